// The translation of the meter, which token bucket, GCRA and leaky bucket share.

import type { Translation } from '../../core/rule-facts.ts'

export const meterTranslation: Translation = {
  algorithms: ['meter', 'stepped-meter', 'wide-meter', 'wide-stepped-meter'],
  file: 'meter/meter.lua',
  define: 'defineMeter',
  shortWay: 'meterShortWay',
  plpgsql: 'meter/meter.plpgsql',
  parameters: ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'],
}
