// Writes openapi.json from the routes of the built service. A test fails when the file and the routes differ.

import { writeFileSync } from 'node:fs'
import { describeApi } from '../dist/doors/http/openapi.js'

writeFileSync(new URL('../openapi.json', import.meta.url), `${JSON.stringify(await describeApi(), undefined, 2)}\n`)
