// The board of the fleet in Redis: a hash with one field for each instance. A field begins with the time of Redis' clock.

import type { SendCommand } from 'sluice/redis'
import { type FleetBoard, FORGOTTEN_MS, MOST_INSTANCES, type PublishedText } from '../../fleet/fleet-board.ts'
import { askRedis } from './redis-answers.ts'

const KEY = 'sluice:{records}:fleet'

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/** ARGV: id, text, lifetime in ms, maximum number of instances. */
const PUBLISH = `${NOW}
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local fields, ages = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #fields, 2 do
  local at = tonumber(string.match(fields[i + 1], '^%d+') or '0')
  if now - at > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], fields[i]) else ages[#ages + 1] = { at, fields[i] } end
end
if #ages > tonumber(ARGV[4]) then
  table.sort(ages, function (a, b) return a[1] < b[1] end)
  for i = 1, #ages - tonumber(ARGV[4]) do redis.call('HDEL', KEYS[1], ages[i][2]) end
end
return 1`

const READ = `${NOW}
return { string.format('%.0f', now), redis.call('HGETALL', KEYS[1]) }`

export function redisFleet(send: SendCommand): FleetBoard {
  const run = (program: string, ...args: string[]) => askRedis(send, KEY, ['EVAL', program, '1', KEY, ...args])
  return {
    async publish(id, text) {
      await run(PUBLISH, id, text, String(FORGOTTEN_MS), String(MOST_INSTANCES))
    },
    async read() {
      const [now, fields] = (await run(READ)) as [string, string[]]
      const texts: PublishedText[] = []
      for (let i = 0; i < fields.length; i += 2) {
        const [at] = fields[i + 1].split(' ', 1)
        const ageMs = Math.max(0, Number(now) - Number(at))
        if (ageMs <= FORGOTTEN_MS) texts.push({ id: fields[i], text: fields[i + 1].slice(at.length + 1), ageMs })
      }
      return texts
    },
  }
}
