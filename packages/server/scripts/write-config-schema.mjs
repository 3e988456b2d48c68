// Writes the JSON Schema of the configuration file, which editors read, from the table of options.

import { writeFileSync } from 'node:fs'
import { publishedSchema } from '../dist/config/config-file.js'

writeFileSync(new URL('../config.schema.json', import.meta.url), publishedSchema())
