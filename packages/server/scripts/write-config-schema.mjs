// Writes the JSON Schema of the configuration file from the table of options. Editors use it.

import { writeFileSync } from 'node:fs'
import { publishedSchema } from '../dist/config/config-file.js'

writeFileSync(new URL('../config.schema.json', import.meta.url), publishedSchema())
