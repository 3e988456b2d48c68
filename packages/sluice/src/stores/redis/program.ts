// Made by scripts/build-redis-program.mjs from the rule catalogue and the .lua files. Change those, then run it.

import type { ProgramParts, TranslationParts } from './join-program.ts'

/** The index of each algorithm's translation, and the names of its parameters in the order in which programs read them. */
export const ALGORITHMS: Readonly<Record<string, { readonly translation: number; readonly parameters: readonly string[] }>> = {
  'fixed-window': { translation: 0, parameters: ['limit', 'windowMs', 'isOnClock', 'elastic', 'countsDenied'] },
  'sliding-log': { translation: 1, parameters: ['limit', 'windowMs'] },
  'sliding-window': { translation: 2, parameters: ['limit', 'windowMs', 'isOnClock', 'roundsDown', 'mostUsed'] },
  meter: { translation: 3, parameters: ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'] },
  'stepped-meter': { translation: 3, parameters: ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'] },
  'wide-meter': { translation: 3, parameters: ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'] },
  'wide-stepped-meter': { translation: 3, parameters: ['limit', 'unitsPerToken', 'drainPerTick', 'tickMs', 'mostUsed', 'rate'] },
  'calendar-window': { translation: 4, parameters: ['limit', 'startOfLast', 'startOfThis', 'startOfNext', 'endOfNext'] },
  concurrency: { translation: 5, parameters: ['limit'] },
}

/** For each translation, the parameters that are true or false, with their values in a plain rule. */
export const FLAGS: readonly Readonly<Record<string, boolean>>[] = [
  { isOnClock: false, elastic: false, countsDenied: false },
  {},
  { isOnClock: false, roundsDown: true },
  {},
  {},
  {},
]

/** SHA-1 of the general program. */
export const GENERAL_SHA1 = '8d81ccd14a18267015fdff6ce1cfa63672fca3b3'

/** SHA-1 of each small program. Index i is the program with the translations whose bits are set in i + 1. */
export const SMALL_SHA1 = [
  'a35a73cfa095ff1a8791287ea5a9a1b49eabd06e',
  'b0b1e54c6e9c241e5f9b3c7d5427760821446370',
  '14a51fbe94376f411c48c730dc3a734638a9ae36',
  '435b84815ad703dd91a56a9aaeff949ed2408b80',
  'b119d084199caca899d54df04ec8582866160894',
  'da06d90bd8a59edabab8d8d2ef4ec98e3acaf070',
  '58f7feaca5fff1466b24cfc7db530a609c8afde3',
  'c77290d884f88e751625cad4d385fd1ad6198498',
  '5bf1881b3e0035daeadf8c43f441b7920b69b610',
  'edbc05300a55802ede28825598d3d77e4fcb149c',
  '036b341c9d3c04fadf694df07cf4b1583cb32557',
  'ef4ed3465e5347fa4d1f8e8296bdb29ee7607598',
  'cb58f9a74e05bb87d3ab2989bde47634ce253239',
  'd3aecee5f6d3eda0720e7f356a61ee6bfee5bd55',
  '6deb45607cd6beb9b5ef222e88d1507e886db1ef',
  '9ba88e29d029b57a3a868b85ca1ae9d17cb57c56',
  'a888f3beae004b8de971ac574904b5cadc2bbd7f',
  '1c42e460e3a15bd061674d1a1d2eb0f02fb56d65',
  '3d35bcd3f81388f3a07adc86f7251950e77c65b1',
  '00f52d47781c89cccabfe6c04b5f1dfac6c7e18e',
  '024fa8e921647e240619ea00586d2ca20ed7fcc6',
  '4d4174d250e299466a5316746d00793e90f39eb2',
  '591cc0e1f4658f15072348d564cc18d550e92030',
  '9d8105c3fccdbf738862f2e8be3e5468a2f987f4',
  '5e3ab493fed8ce26054eac34b85a5a918af4157d',
  '49f7965c538b942a88e87c38a6328757691d2847',
  'a8d9d51f0d84781172c08f9da93788a38c97ba86',
  '5ec7a417de2e60d42b7053d1bf8ca7988dd563b3',
  'a4e695ece7b0aec49e75920f903a38b6c661a21a',
  '73b35be3b85315b5c13fc03d9911f3119751ebda',
  '37a8d9574aa3b272d43a90b4ba74e4c495517e6f',
  'a3f1634c7c0a2efe796b4f10e34576a574b378ca',
  'c45641e3c67841a39175a14ae78c54ad46433164',
  '9e3ad0eac281fc6d9ef9e0ba472c5538cc4bd61f',
  '9f443ba6415a3893a0364c03d76e7a78ba6ef9e2',
  'b3b1f64e8ce51f42de4927f922f6aafe75dd3c90',
  '22afade2d670918edc18496dca93137a62c76276',
  'e7316215bf6cdbf72710d55aa8b782e50e199f3b',
  '4e49945c9ebecd5e3215ea2d70efa6d2bcfac905',
  'a4d5915c1e3ff065eff8b39488498da0ab52bc7c',
  'b56d75acfe8b7065b93c0fdb1d372dcbc5a37916',
  '36aa8b8eb79774574562dfc8c07bb6a1114dac28',
  '57c86c11f9d8f58f6f61e7e5f9b842535c420ac2',
  '933a3d3dd10819eb87fadaebce797dd81eb255db',
  '582b4c526216fc4699b2690a5b6185f0a34607ca',
  '4fb465810b7f037374c2d28a7305466a8ea2e9a0',
  '06e3f2e08ce47b8f50ad639ae9ef4c0f73ed452f',
  '45f23422a0202506986bde596ac6dd80f3d0bafd',
  'b5e325e2d8be58ba0b963dd9e52c9f0e45e5ca4a',
  '540ad49680a53d8f54bf2e4c7a70dc858276715a',
  '533973fbcd078d6e06d6d3ac08f73776bd4af15b',
  '70e8185eef2212e65d2f15131e499701e795a277',
  'b1a88d318381931e202905190ecbebb9fcdccadb',
  'c321e0531c6230f3d4d57c2891ada58ec9df231d',
  'daede4a5057d1399d41aee4072e6cf360459d4f0',
  'c8b597141e930ff01da7b9b07030560d85f61275',
  '630f086a8e91468c45c3277861bd51d90ce3eff4',
  '2e47f3ab1f78caa2bea37bdae1122368c6ba11d9',
  'aabccee0f9b52b68e58fe97ce6b19300c6ca330d',
  'a94f4f3930e6b8a4acab1d0969836d1da7e8e5b0',
  'd375a25c682b203de734757b6da63d227de3532d',
  'bbf2f6cff1500bf0c82a9f8591fd30ad2cae5af0',
  '83916ebfea4cc84db695395d738709062e1375e5',
]

export const PARTS: ProgramParts = {
  command: `local KEYS, ARGV = KEYS, ARGV
local call = redis.call
local names, base, nameCount = KEYS, 0, #KEYS
local at = 0
local nowMs, graceMs = '', 1000
local head = ARGV[1]
if head == 'n' then
at = 2
base = ARGV[2] + 0
elseif head == '0' or head == '1' or head == 'x' then
at = 1
if head == 'x' then
at = 4
base = ARGV[2] + 0
nowMs = ARGV[3]
end
if ARGV[at] ~= '' then
local note, value, bit = KEYS[#KEYS], ARGV[at], ARGV[at + 1]
at = at + 1
nameCount = nameCount - 1
local before = redis.pcall('SETBIT', note, bit, value)
if type(before) == 'table' then
if not string.find(before.err, 'WRONGTYPE', 1, true) then return before end
call('DEL', note)
before = call('SETBIT', note, bit, value)
end
local isExecuted = before == value + 0
local char, rep = string.char, string.rep
local restMs = call('PTTL', note)
if restMs < 0 then
local bytes = math.floor(bit / 8)
if value == '0' then
call('SET', note, rep(char(0), bytes) .. char(2 ^ (7 - bit % 8) - 1) .. rep(char(255), 511 - bytes))
isExecuted = false
elseif bytes > 128 then
call('SETRANGE', note, 0, rep(char(255), bytes - 128))
end
end
if isExecuted then return redis.error_reply('REPEATED this command was sent before, and its answer was lost') end
if restMs < 300000 then call('PEXPIRE', note, 600000) end
if bit % 512 == 511 then
local executed, executedBefore, bytes = char(255 * value), char(255 - 255 * value), (bit - 1023) / 8
if bytes > 0 then
local from = math.max(0, bytes - 256)
call('SETRANGE', note, from, rep(executed, bytes - from))
else
call('SETRANGE', note, 384, rep(executedBefore, bytes + 128))
end
end
end
end
if base > 0 then names, nameCount = ARGV, #ARGV - base end
if nowMs ~= '' then
nowMs, graceMs = nowMs + 0, 3600000
else
local time = call('TIME')
nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end
local packBytes, unpackBytes = struct.pack, struct.unpack`,
  hits: `local cost, costs = 1, ARGV
local list, listAt, ruleCount = ARGV, at - 1, 1
local kind = ARGV[at + 1]
local areSameOrApart = kind ~= '*'
if kind == '=' or kind == '*' then
cost = ARGV[at + 2]
if cost ~= '' then cost = cost + 0 else cost = nil end
listAt = at + 2
ruleCount = ARGV[at + 3] + 0
end
local first, count = base, nameCount / ruleCount
local set, longWay`,
  generalHits: `local list, listAt = set.list, set.at
local cost, costs = amount, amount
if type(amount) == 'table' then cost = nil end
local areSameOrApart = false`,
  rulesOfRun: `local after, isShort = listAt + 1, true
local way, a, b, c, d, e, f
local rules = ruleCount > 1 and { 0, 0, 0, 0 }
for i = 1, ruleCount do
local name = list[after + 1]
--@shortWays
isShort = isShort and way
if rules then rules[i] = { way, a, b, c, d, e, f } end
end`,
  runOfHits: `local try, format = redis.pcall, string.format
local answers = count > 1 and {}
local costAt, costStep = 0, 0
if costs == list then costAt, costStep = after, ruleCount end
local loaded, loadedAt, loadedTo, seen = nil, first, first
local mostLoaded = 256 - 256 % ruleCount
if not areSameOrApart or not isShort or count == 1 or base > 0 or mostLoaded == 0 then loadedTo = math.huge end
local changes, figures, form
if rules then
changes, figures = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0, 0, 0 }
form = '%d,0,%d' .. string.rep(',%d,0,%d', ruleCount - 1)
end
for i = 1, count do
local answer
local looksForExpiry = (nowMs + i) % 16 == 0
if isShort then
if first >= loadedTo then
loadedAt, loadedTo = first, math.min(first + mostLoaded, first + (count - i + 1) * ruleCount)
loaded, seen = try('MGET', unpack(names, first + 1, loadedTo)), {}
if loaded.err then loaded, loadedTo = nil, math.huge end
end
local name = names[first + 1]
local at = loaded and not seen[name] and first - loadedAt
if loaded then seen[name] = true end
if rules then
local isAllowed, areKept = true, not looksForExpiry
for j = 1, ruleCount do
local rule = rules[j]
local stored = at and loaded[at + j] or try('GET', names[first + j])
local used, endsAt, value, isKept, lastsTo, waitMs =
rule[1](nowMs, stored, cost or costs[costAt + j] + 0, rule[2], rule[3], rule[4], rule[5], rule[6], rule[7])
if not used or waitMs then
isAllowed = false
break
end
if not isKept then areKept = false end
local k = 3 * j
changes[k - 2], changes[k - 1], changes[k] = value, isKept, lastsTo
figures[2 * j - 1], figures[2 * j] = used, endsAt - nowMs
end
if isAllowed then
answer = format(form, unpack(figures))
for j = 1, ruleCount do
local k = 3 * j
local value, refusal = changes[k - 2], nil
name = names[first + j]
if areKept then
local reply = try('SETRANGE', name, '0', value)
if reply ~= #value then refusal = reply.err end
else
if not changes[k - 1] or looksForExpiry and try('PTTL', name) == -1 then
refusal = try('SET', name, value, 'PX', format('%d', changes[k] - nowMs + graceMs)).err
else
local reply = try('SETRANGE', name, '0', value)
if reply ~= #value then refusal = reply.err end
end
end
if refusal then
answer = j > 1 and cjson.encode('PARTLY ' .. refusal .. ' (' .. name .. ')') or nil
break
end
end
end
else
local stored = at and loaded[at + 1] or try('GET', name)
local used, endsAt, value, isKept, lastsTo, waitMs = way(nowMs, stored, cost or costs[costAt + 1] + 0, a, b, c, d, e, f)
if used then
local restMs = endsAt - nowMs
answer = waitMs and format('%d,%d,%d', used, waitMs, restMs) or format('%d,0,%d', used, restMs)
if not isKept or looksForExpiry and try('PTTL', name) == -1 then
if try('SET', name, value, 'PX', format('%d', lastsTo - nowMs + graceMs)).err then answer = nil end
elseif value ~= stored and try('SETRANGE', name, '0', value) ~= #value then
answer = nil
end
end
end
end
if not answer then
--@longWay
longWay = longWay or defineCalls(names, nowMs, graceMs)
local amount = cost
if not cost then
amount = {}
for j = 1, ruleCount do amount[j] = costs[costAt + j] + 0 end
end
set = set or { list = list, at = listAt, count = ruleCount }
answer = longWay('hit', set, first, amount)
end
if not answers then return answer end
answers[i] = answer
first = first + ruleCount
if not cost then costAt = costAt + costStep end
end
return table.concat(answers, ',')`,
  general: `local request = cjson.decode(ARGV[at + 1])
local sets = {}
for i, list in ipairs(request.sets) do sets[i] = { list = list, at = 0 } end
local replies = {}
local runs, ids, idAt = request.runs, request.ids, 0
local first = base
for i = 1, #runs, 4 do
local operation, set, amount, count = runs[i], sets[runs[i + 1]], runs[i + 2], runs[i + 3]
local ruleCount = set.count
if not ruleCount then
ruleCount = set.list[1] + 0
set.count = ruleCount
end
if operation == 'hit' then
replies[#replies + 1] = runOfHits(set, ruleCount, first, count, amount)
elseif aboutHolds[operation] then
replies[#replies + 1] = runOfHolds(operation, set, first, request.terms[amount], count, ids, idAt)
idAt = idAt + count
else
longWay = longWay or defineCalls(names, nowMs, graceMs)
for j = 0, count - 1 do replies[#replies + 1] = longWay(operation, set, first + j * ruleCount, amount) end
end
first = first + count * ruleCount
end
return table.concat(replies, ',')`,
  wholeNumbers: `local MAX = 9007199254740991
local INFINITY = math.huge
local function floorDiv(dividend, divisor)
return math.floor(dividend / divisor)
end
local function ceilDiv(dividend, divisor)
return math.ceil(dividend / divisor)
end
local function ceilMulDiv(factor, times, divisor)
if factor * times <= MAX then return ceilDiv(factor * times, divisor) end
local quotient, rest, left = 0, 0, times
local bit = 2 ^ 52
while bit >= 1 do
quotient = quotient * 2
rest = rest * 2
if rest >= divisor then
rest = rest - divisor
quotient = quotient + 1
end
if left >= bit then
left = left - bit
if rest >= divisor - factor then
rest = rest - (divisor - factor)
quotient = quotient + 1
else
rest = rest + factor
end
end
bit = bit / 2
end
return rest > 0 and quotient + 1 or quotient
end
local function refuseValue()
error('sluice: this value is not a state of its rule: reset() removes it', 0)
end
local function isWhole(number)
return number >= 0 and number <= MAX and number % 1 == 0
end`,
  holds: `local HOLD_BYTES = 24
local SEVERAL, ONE = 1, 2
local function mayHaveHolds(value)
return #value % 8 == 2
end
local function holdAt(holds, at)
local id, units, expiresAt = struct.unpack('<ddd', holds.bytes, at + 1)
if not (isWhole(math.abs(units)) and isWhole(expiresAt)) or units == 0 then refuseValue() end
return id, units, expiresAt
end
local function splitHolds(value)
local length = #value
if length < 26 then refuseValue() end
local before, form = string.byte(value, length - 1, length)
local bytes = length - 2 - before - (form == SEVERAL and 24 or 0)
local isSound = form == SEVERAL and bytes % HOLD_BYTES == 0 or form == ONE and bytes == HOLD_BYTES
if not isSound or bytes < HOLD_BYTES then refuseValue() end
local holds = { bytes = string.sub(value, before + 1, before + bytes) }
local _, units, firstEnd, lastEnd
if form == ONE then
_, units, firstEnd = holdAt(holds, 0)
lastEnd = firstEnd
else
units, firstEnd, lastEnd = struct.unpack('<ddd', value, length - 25)
if not (isWhole(math.abs(units)) and isWhole(firstEnd) and isWhole(lastEnd)) or units == 0 then refuseValue() end
end
holds.units, holds.firstEnd, holds.lastEnd, holds.isCharged = math.abs(units), firstEnd, lastEnd, units > 0
return holds, before > 0 and string.sub(value, 1, before)
end
local function joinHolds(value, holds)
if #holds.bytes == HOLD_BYTES then return value .. holds.bytes .. string.char(#value, ONE) end
local bounds = struct.pack('<ddd', holds.isCharged and holds.units or -holds.units, holds.firstEnd, holds.lastEnd)
return value .. holds.bytes .. bounds .. string.char(#value, SEVERAL)
end
local function findHold(holds, id)
local bytes, from = struct.pack('<d', id), 1
while true do
local at = string.find(holds.bytes, bytes, from, true)
if not at then return nil end
if (at - 1) % HOLD_BYTES == 0 then return at - 1 end
from = at + 1
end
end
local function noteHold(holds, units, expiresAt)
holds.firstEnd = math.min(holds.firstEnd, expiresAt)
holds.lastEnd = math.max(holds.lastEnd, expiresAt)
holds.isCharged = holds.isCharged or units > 0
end
local function findLastEnd(holds, expiresAt)
if expiresAt < holds.lastEnd then return end
holds.lastEnd, holds.isCharged = 0, false
for at = 0, #holds.bytes - 1, HOLD_BYTES do
local _, unitsOf, endOf = holdAt(holds, at)
noteHold(holds, unitsOf, endOf)
end
end
local function addHold(state, id, units, expiresAt)
local holds = state.holds or { bytes = '', units = 0, firstEnd = MAX, lastEnd = 0 }
holds.bytes = holds.bytes .. struct.pack('<ddd', id, units, expiresAt)
holds.units = holds.units + math.abs(units)
noteHold(holds, units, expiresAt)
state.holds = holds
end
local function extendHold(holds, at, newEnd)
local id, units, expiresAt = holdAt(holds, at)
local hold = struct.pack('<ddd', id, units, newEnd)
holds.bytes = string.sub(holds.bytes, 1, at) .. hold .. string.sub(holds.bytes, at + HOLD_BYTES + 1)
findLastEnd(holds, expiresAt)
noteHold(holds, units, newEnd)
end
local function dropHold(state, at)
local holds = state.holds
local _, units, expiresAt = holdAt(holds, at)
holds.bytes = string.sub(holds.bytes, 1, at) .. string.sub(holds.bytes, at + HOLD_BYTES + 1)
holds.units = holds.units - math.abs(units)
findLastEnd(holds, expiresAt)
if holds.bytes == '' then state.holds = false end
end
local function countHolds(state)
return state.holds and #state.holds.bytes / HOLD_BYTES or 0
end
local function endsEarlier(a, b)
if a.expiresAt ~= b.expiresAt then return a.expiresAt < b.expiresAt end
return a.at < b.at
end
local function holdsByEnd(holds)
local list = {}
for at = 0, #holds.bytes - 1, HOLD_BYTES do
local _, units, expiresAt = holdAt(holds, at)
list[#list + 1] = { units = units, expiresAt = expiresAt, at = at }
end
table.sort(list, endsEarlier)
return list
end
local function firstToEnd(holds)
local firstEnd, units = INFINITY, 0
for at = 0, #holds.bytes - 1, HOLD_BYTES do
local unitsOf, endOf = struct.unpack('<dd', holds.bytes, at + 9)
if endOf < firstEnd then firstEnd, units = endOf, unitsOf end
end
return firstEnd, math.abs(units)
end
local function dropExpired(state, nowMs)
local bytes = state.holds.bytes
local expired, kept, from = {}, {}, 1
local left = { units = 0, firstEnd = MAX, lastEnd = 0 }
for at = 0, #bytes - 1, HOLD_BYTES do
local _, units, expiresAt = holdAt(state.holds, at)
if expiresAt <= nowMs then
expired[#expired + 1] = { units = units, expiresAt = expiresAt, at = at }
kept[#kept + 1] = string.sub(bytes, from, at)
from = at + HOLD_BYTES + 1
else
left.units = left.units + math.abs(units)
noteHold(left, units, expiresAt)
end
end
kept[#kept + 1] = string.sub(bytes, from)
left.bytes = table.concat(kept)
state.holds = left.bytes ~= '' and left
table.sort(expired, endsEarlier)
return expired
end
local function lastsTo(rule, state)
local ofRule, drainMs, holds = rule.algorithm.lastsTo, rule.algorithm.drainMs, state.holds
if not holds then return ofRule and state[1] > 0 and ofRule(rule, state) or state[1] end
local excessMs = drainMs and math.max(0, drainMs(rule, holds.units) - rule.windowMs) or 0
local lastEnd = holds.isCharged and holds.lastEnd + 2 * rule.windowMs or holds.lastEnd
return math.max(state[1] == 0 and 0 or state[1] + rule.windowMs, lastEnd) + excessMs
end`,
  calls: `local calls = {}
local call, format = redis.call, string.format
local packBytes, unpackBytes = struct.pack, struct.unpack
local lastKey
local isPartly = false
local function areWhole(a, b, c, d)
local haveNoFraction = a % 1 + b % 1 + c % 1 + d % 1 == 0
return haveNoFraction and a >= 0 and b >= 0 and c >= 0 and d >= 0 and a <= MAX and b <= MAX and c <= MAX and d <= MAX
end
local function loadCells(rule, key)
local cells = rule.cells
local width = rule.width
local value = call('GET', key)
rule.loaded = value
cells.holds = false
if value and mayHaveHolds(value) then cells.holds, value = splitHolds(value) end
if not value then
cells[1], cells[2], cells[3], cells[4] = 0, 0, 0, 0
elseif width == 2 and #value == 16 then
cells[1], cells[2] = unpackBytes('<dd', value)
if not (isWhole(cells[1]) and isWhole(cells[2])) then refuseValue() end
elseif width >= 3 and (#value == width * 8 or #value == 32) then
local a, b, c, d
if #value == 32 then
a, b, c, d = unpackBytes('<dddd', value)
else
a, b, c = unpackBytes('<ddd', value)
c, d = rule.algorithm.unpackRate(rule, c)
end
if not areWhole(a, b, c, d) then refuseValue() end
cells[1], cells[2], cells[3], cells[4] = a, b, c, d
if not rule.algorithm.isSound(rule, cells) then refuseValue() end
else
refuseValue()
end
local isOther = cells.holds or rule.mark and value and (#value ~= 24 or unpackBytes('<d', value, 17) ~= rule.mark)
rule.loadedTo = isOther and -1 or lastsTo(rule, cells)
return cells
end
local function saveCells(rule, key, cells, ttlMs, keptTo)
local expiresAt, holds = cells[1], cells.holds
if expiresAt == 0 and not holds then
if rule.loaded then call('DEL', key) end
return
end
local value
if expiresAt == 0 then
value = ''
elseif rule.width == 2 then
value = packBytes('<dd', expiresAt, cells[2])
elseif rule.width == 3 then
value = packBytes('<ddd', expiresAt, cells[2], rule.mark or rule.rate)
else
value = packBytes('<dddd', expiresAt, cells[2], cells[3], cells[4])
end
if holds then
value = joinHolds(value, holds)
if value ~= rule.loaded or call('PTTL', key) < ttlMs - graceMs then call('SET', key, value, 'PX', ttlMs) end
elseif keptTo ~= rule.loadedTo or call('PTTL', key) == -1 then
call('SET', key, value, 'PX', ttlMs)
elseif value ~= rule.loaded then
call('SET', key, value, 'KEEPTTL')
end
end
local algorithms = {}
local function makeRules(set)
local rules, at = {}, set.at + 1
for i = 1, set.count or set.list[at] do
local name = set.list[at + 1]
local after, define, rule = translationOf(set.list, at)
local algorithm = algorithms[name]
if not algorithm then
algorithm = define()
algorithms[name] = algorithm
end
if algorithm.make then algorithm.make(rule, name) end
rule.algorithm = algorithm
rule.cells = rule.width and { 0, 0, 0, 0, holds = false }
rule.load = algorithm.load or loadCells
rule.save = algorithm.save or saveCells
rules[i] = rule
at = after
end
return rules
end
local states = {}
local function loadAll(rules, first)
local haveHolds = false
for i = 1, #rules do
lastKey = names[first + i]
states[i] = rules[i].load(rules[i], lastKey)
if states[i].holds then haveHolds = true end
end
if haveHolds then return true end
for i = 1, #rules do
lastKey = names[first + i]
rules[i].algorithm.settle(rules[i], states[i], nowMs)
end
return false
end
local sameAmounts = {}
local function amountsOf(rules, amount)
if type(amount) == 'table' then return amount end
for i = 1, #rules do sameAmounts[i] = amount end
return sameAmounts
end
local function saveAll(rules, first)
for i = 1, #rules do
local keptTo = lastsTo(rules[i], states[i])
isPartly = i > 1
rules[i].save(rules[i], names[first + i], states[i], (keptTo == 0 and 0 or keptTo - nowMs) + graceMs, keptTo)
end
isPartly = false
end
local function figuresOf(rule, state, waitMs)
local used = rule.algorithm.used(rule, state, nowMs)
local resetAfterMs = state[1] == 0 and 0 or state[1] - nowMs
return format('%d,%d,%d', used, waitMs == INFINITY and -1 or waitMs, resetAfterMs)
end
function calls.hit(rules, first, amount)
local amounts = amountsOf(rules, amount)
local allowed = true
local figures
for i = 1, #rules do
local rule = rules[i]
if rule.algorithm.waitMs(rule, states[i], nowMs, amounts[i]) > 0 then allowed = false end
end
for i = 1, #rules do
local rule = rules[i]
local algorithm = rule.algorithm
local state = states[i]
if allowed or rule.countsDenied then algorithm.spend(rule, state, nowMs, amounts[i]) end
local waitMs = allowed and 0 or algorithm.waitMs(rule, state, nowMs, amounts[i])
local ofCharge = figuresOf(rule, state, waitMs)
figures = figures and figures .. ',' .. ofCharge or ofCharge
end
saveAll(rules, first)
return figures
end`,
  operations: `function calls.timedHit(rules, first, amount)
return calls.hit(rules, first, amount) .. ',' .. format('%d', nowMs)
end
function calls.peek(rules, first, amount)
local amounts = amountsOf(rules, amount)
local figures
for i = 1, #rules do
local rule, state = rules[i], states[i]
local ofCharge = figuresOf(rule, state, rule.algorithm.waitMs(rule, state, nowMs, amounts[i]))
figures = figures and figures .. ',' .. ofCharge or ofCharge
end
return figures
end
local function put(rules, first, amount, change)
local rule, state = rules[1], states[1]
rule.algorithm[change](rule, state, nowMs, amount)
local used = rule.algorithm.used(rule, state, nowMs)
saveAll(rules, first)
return format('%d', used)
end
function calls.inc(rules, first, amount)
return put(rules, first, amount, 'spend')
end
function calls.set(rules, first, amount)
return put(rules, first, amount, 'put')
end
function calls.refund(rules, first, amount)
local amounts = amountsOf(rules, amount)
local ends = type(amount) == 'table' and amount
local usedOnFirst
for i = 1, #rules do
local rule = rules[i]
rule.algorithm.refund(rule, states[i], nowMs, amounts[i], ends and ends[#rules + i])
usedOnFirst = usedOnFirst or rule.algorithm.used(rule, states[i], nowMs)
end
saveAll(rules, first)
return format('%d', usedOnFirst)
end
function calls.reset(rules, first)
for i = 1, #rules do call('DEL', names[first + i]) end
return '0'
end
function calls.get(rules)
return format('%d', rules[1].algorithm.used(rules[1], states[1], nowMs))
end
function calls.expiresAt()
return format('%d', states[1][1])
end`,
  heldStep: `local heldCalls = {}
local function spendAt(rule, state, timeMs, units)
rule.algorithm.settle(rule, state, timeMs)
rule.algorithm.spend(rule, state, timeMs, units)
end
local function expire(rule, state)
if state.holds and state.holds.firstEnd <= nowMs then
for _, hold in ipairs(dropExpired(state, nowMs)) do
local counts = hold.expiresAt >= (rule.countsFrom or 0)
if counts and hold.units > 0 then spendAt(rule, state, hold.expiresAt, hold.units) end
end
end
rule.algorithm.settle(rule, state, nowMs)
end
local function expireAll(rules, first)
for i = 1, #rules do
lastKey = names[first + i]
expire(rules[i], states[i])
end
end
local function copyCells(cells)
return { cells[1], cells[2], cells[3], cells[4], holds = false }
end
local function withHolds(rule, state)
if not state.holds then return state end
local copy = (rule.algorithm.copy or copyCells)(state)
rule.algorithm.spend(rule, copy, nowMs, state.holds.units)
return copy
end
local function waitForHolds(rule, state, amount)
if amount > rule.limit then return INFINITY end
local over = (state.holds and state.holds.units or 0) + amount - rule.limit
if over <= 0 then return 0 end
if not state.holds then return INFINITY end
local firstEnd, units = firstToEnd(state.holds)
if units >= over and isWhole(units) and isWhole(firstEnd) then return firstEnd - nowMs end
for _, hold in ipairs(holdsByEnd(state.holds)) do
over = over - math.abs(hold.units)
if over <= 0 then return hold.expiresAt - nowMs end
end
return INFINITY
end
local function heldFigures(rule, state, amount)
if rule.isHeld then
local holds = state.holds
return holds and holds.units or 0, waitForHolds(rule, state, amount), holds and holds.lastEnd or 0
end
local algorithm = rule.algorithm
local seen = withHolds(rule, state)
return algorithm.used(rule, seen, nowMs), algorithm.waitMs(rule, seen, nowMs, amount), seen[1]
end
local function textOf(used, waitMs, endsAt)
return format('%d,%d,%d', used, waitMs == INFINITY and -1 or waitMs, endsAt == 0 and 0 or endsAt - nowMs)
end
function heldCalls.hit(rules, first, amount)
local amounts = amountsOf(rules, amount)
local allowed = true
local figures = {}
expireAll(rules, first)
for i = 1, #rules do
local _, waitMs = heldFigures(rules[i], states[i], amounts[i])
if waitMs > 0 then allowed = false end
end
for i = 1, #rules do
local rule, state = rules[i], states[i]
if allowed or rule.countsDenied then rule.algorithm.spend(rule, state, nowMs, amounts[i]) end
local used, waitMs, endsAt = heldFigures(rule, state, amounts[i])
figures[i] = textOf(used, allowed and 0 or waitMs, endsAt)
end
saveAll(rules, first)
return table.concat(figures, ',')
end`,
  heldOperations: `function heldCalls.timedHit(rules, first, amount)
return heldCalls.hit(rules, first, amount) .. ',' .. format('%d', nowMs)
end
function heldCalls.peek(rules, first, amount)
local amounts = amountsOf(rules, amount)
local figures = {}
expireAll(rules, first)
for i = 1, #rules do figures[i] = textOf(heldFigures(rules[i], states[i], amounts[i])) end
return table.concat(figures, ',')
end
function heldCalls.get(rules, first)
expireAll(rules, first)
return format('%d', (heldFigures(rules[1], states[1], 0)))
end
function heldCalls.expiresAt(rules, first)
expireAll(rules, first)
local _, _, endsAt = heldFigures(rules[1], states[1], 0)
return format('%d', endsAt)
end
local function heldPut(rules, first, amount, change)
expireAll(rules, first)
rules[1].algorithm[change](rules[1], states[1], nowMs, amount)
local used = heldFigures(rules[1], states[1], 0)
saveAll(rules, first)
return format('%d', used)
end
function heldCalls.inc(rules, first, amount)
return heldPut(rules, first, amount, 'spend')
end
function heldCalls.set(rules, first, amount)
expireAll(rules, first)
local held = states[1].holds and states[1].holds.units or 0
return heldPut(rules, first, math.max(0, amount - held), 'put')
end
function heldCalls.refund(rules, first, amount)
local amounts = amountsOf(rules, amount)
local ends = type(amount) == 'table' and amount
expireAll(rules, first)
for i = 1, #rules do
rules[i].algorithm.refund(rules[i], states[i], nowMs, amounts[i], ends and ends[#rules + i])
end
local usedOnFirst = heldFigures(rules[1], states[1], 0)
saveAll(rules, first)
return format('%d', usedOnFirst)
end
local DENIED, GRANTED, FULL_OF_HOLDS = 0, 1, 2
function heldCalls.reserve(rules, first, terms, id)
local count = #rules
local expiresAt, isCharged, most = nowMs + terms[2 * count + 1], terms[2 * count + 2] == 1, terms[2 * count + 3]
local isFull, allowed = false, true
local granted, figures, held = {}, {}, {}
expireAll(rules, first)
for i = 1, count do
local least = terms[count + i]
local isHeld = least >= 0
if isHeld and countHolds(states[i]) >= most then isFull = true end
local used, waitMs, endsAt = heldFigures(rules[i], states[i], isHeld and least or terms[i])
if waitMs > 0 then allowed = false end
figures[i] = textOf(used, waitMs, endsAt)
granted[i] = isHeld and math.min(terms[i], rules[i].limit - used) or 0
end
allowed = allowed and not isFull
for i = 1, count do
local rule, state, least = rules[i], states[i], terms[count + i]
local isHeld = least >= 0
local isSpent = not isHeld and not isFull and (allowed or rule.countsDenied)
if isSpent then rule.algorithm.spend(rule, state, nowMs, terms[i]) end
if allowed and isHeld then
addHold(state, id, isCharged and not rule.isHeld and granted[i] or -granted[i], expiresAt)
end
if allowed or isSpent then
local used, waitMs, endsAt = heldFigures(rule, state, isHeld and least or terms[i])
figures[i] = textOf(used, allowed and 0 or waitMs, endsAt)
end
held[i] = format('%d', allowed and granted[i] or 0)
end
saveAll(rules, first)
local outcome = isFull and FULL_OF_HOLDS or allowed and GRANTED or DENIED
return table.concat(figures, ',') .. ',' .. table.concat(held, ',') .. format(',%d,%d', nowMs, outcome)
end
local function endHold(operation, rules, first, terms, id)
local ttlMs = terms[#rules + 1]
for i = 1, #rules do
lastKey = names[first + i]
local holds = states[i].holds
local at = holds and findHold(holds, id)
if not at then return '0' end
local _, _, expiresAt = holdAt(holds, at)
if expiresAt <= nowMs then return '0' end
end
expireAll(rules, first)
for i = 1, #rules do
local rule, state = rules[i], states[i]
local at = findHold(state.holds, id)
local _, held = holdAt(state.holds, at)
if operation == 'extend' then
extendHold(state.holds, at, nowMs + ttlMs)
else
dropHold(state, at)
local units = operation == 'cancel' and 0 or terms[i] < 0 and math.abs(held) or terms[i]
if units > 0 and not rule.isHeld then rule.algorithm.spend(rule, state, nowMs, units) end
end
end
saveAll(rules, first)
return '1'
end
function heldCalls.settle(rules, first, terms, id)
return endHold('settle', rules, first, terms, id)
end
function heldCalls.cancel(rules, first, terms, id)
return endHold('cancel', rules, first, terms, id)
end
function heldCalls.extend(rules, first, terms, id)
return endHold('extend', rules, first, terms, id)
end`,
  shortHolds: `local aboutHolds = { reserve = true, settle = true, cancel = true, extend = true }
local try, format, max, sub = redis.pcall, string.format, math.max, string.sub
local function shortRuleOf(set)
local short = set.short
if short == nil then
short = set.count == 1 and { shortWayOf(set.list, 0, 1) }
local isFixed = short and short[1] == fixedWindowShortWay
if short and (isFixed or short[1] == slidingWindowShortWay) then
short.bytes = isFixed and 16 or 32
short.lagMs = isFixed and 0 or short[3]
else
short = false
end
set.short = short
end
return short
end
local function partsOf(value)
local length = #value
if length % 8 ~= 2 or length < 26 then return end
local units, firstEnd, lastEnd, before, form = unpackBytes('<dddBB', value, length - 25)
local holdsEnd = length - 26
if form == 2 then
holdsEnd = length - 2
units, firstEnd = firstEnd, lastEnd
end
local isCharged = units > 0
if not isCharged then units = -units end
local count = (holdsEnd - before) / 24
local areBounds = units >= 1 and units < 2 ^ 53 and firstEnd > nowMs and lastEnd >= firstEnd and lastEnd < 2 ^ 53
local isForm = form == 1 and count >= 1 and count % 1 == 0 or form == 2 and count == 1
if not isForm or not areBounds or units % 1 + lastEnd % 1 ~= 0 then return end
return before, sub(value, before + 1, holdsEnd), units, firstEnd, lastEnd, isCharged
end
local function endWithHolds(endsAt, lastEnd, isCharged, windowMs)
return max(endsAt + windowMs, isCharged and lastEnd + 2 * windowMs or lastEnd)
end
local function restOf(terms)
local amount, expiresAt, isCharged = terms[1], nowMs + terms[3], terms[4] == 1
local rest = { held = isCharged and amount or -amount, expiresAt = expiresAt, isCharged = isCharged, tails = {} }
rest.form = '%d,0,%d' .. string.format(',%d,%d,1', amount, nowMs)
terms.rest = rest
return rest
end
local function reserveShortly(short, name, value, terms, id, looksForExpiry)
local rest, windowMs = terms.rest or restOf(terms), short[3]
local stateBytes, bytes, amount, firstEnd = value, '', terms[1], rest.expiresAt
local units, lastEnd, isCharged = amount, firstEnd, rest.isCharged
if value and #value ~= short.bytes then
local before, bytesBefore, unitsBefore, first, last, areCharged = partsOf(value)
if not before then return end
stateBytes, bytes = before > 0 and sub(value, 1, before), bytesBefore
if #bytes >= terms[5] * 24 then return end
units = unitsBefore + amount
if first < firstEnd then firstEnd = first end
if last > lastEnd then lastEnd = last end
isCharged = isCharged or areCharged
end
if terms[2] < 0 then return end
local used, endsAt, _, isLive, _, waitMs = short[1](nowMs, stateBytes, units, short[2], windowMs, short[4], short[5], short[6])
if not used or waitMs then return end
if not isLive then stateBytes = '' end
local isFirst, tail = bytes == '', nil
if isFirst then
tail = rest.tails[#stateBytes]
if not tail then
tail = packBytes('<ddBB', rest.held, rest.expiresAt, #stateBytes, 2)
rest.tails[#stateBytes] = tail
end
else
local sum = isCharged and units or -units
tail = packBytes('<dddddBB', rest.held, rest.expiresAt, sum, firstEnd, lastEnd, #stateBytes, 1)
end
local written = stateBytes .. bytes .. packBytes('<d', id) .. tail
local reply
if not isLive or lastEnd >= endsAt - short.lagMs or looksForExpiry and try('PTTL', name) == -1 then
local lastsMs = endWithHolds(isLive and endsAt or 0, lastEnd, isCharged, windowMs) - nowMs
reply = try('SET', name, written, 'PX', format('%d', lastsMs + graceMs))
else
reply = try('SET', name, written, 'KEEPTTL')
end
return not reply.err and format(rest.form, used, endsAt - nowMs)
end
local function settleShortly(short, name, value, terms, id)
if not value or #value % 8 ~= 2 or #value < 26 then return end
local onlyId, held, expiresAt, before, form = unpackBytes('<dddBB', value, #value - 25)
local others, units, firstEnd, lastEnd, isCharged
if form == 2 then
if onlyId ~= id or before ~= #value - 26 or not (expiresAt > nowMs and expiresAt < 2 ^ 53) then return end
else
local bytes
before, bytes, units, firstEnd, lastEnd, isCharged = partsOf(value)
local at = before and string.find(bytes, packBytes('<d', id), 1, true)
if not at or at % 24 ~= 1 then return end
held, expiresAt = unpackBytes('<dd', bytes, at + 8)
if not (expiresAt >= firstEnd and math.abs(held) < units) then return end
others = sub(bytes, 1, at - 1) .. sub(bytes, at + 24)
end
local wasCharged = held > 0
if not wasCharged then held = -held end
local amount = terms[1]
if amount < 0 then amount = held end
if amount == 0 or not (held >= 1 and held < 2 ^ 53) or held % 1 + expiresAt % 1 ~= 0 then return end
local windowMs = short[3]
local _, endsAt, written, isLive, _, waitMs =
short[1](nowMs, before > 0 and sub(value, 1, before), amount, short[2], windowMs, short[4], short[5], short[6])
if not endsAt or waitMs then return end
local lastsMs
if others then
if not isLive or lastEnd >= endsAt - short.lagMs then
lastsMs = endWithHolds(endsAt, lastEnd, isCharged, windowMs) - nowMs
end
if #others == 24 then
written = written .. others .. string.char(#written, 2)
else
local sum = isCharged and units - held or held - units
written = written .. others .. packBytes('<dddBB', sum, firstEnd, lastEnd, #written, 1)
end
else
local isCovered = isLive and expiresAt < endsAt - short.lagMs
local lastsTo = wasCharged and expiresAt + 2 * windowMs or expiresAt
if not isCovered and (expiresAt < endsAt or lastsTo > endsAt + 600000) then lastsMs = endsAt - nowMs end
end
local reply
if lastsMs then
reply = try('SET', name, written, 'PX', format('%d', lastsMs + graceMs))
else
reply = try('SET', name, written, 'KEEPTTL')
end
return not reply.err and '1'
end
local shortWays = { reserve = reserveShortly, settle = settleShortly }
local function runOfHolds(operation, set, first, terms, count, ids, idAt)
local ruleCount = set.count
local short = shortWays[operation] and shortRuleOf(set)
local shortWay = short and shortWays[operation]
local loaded, seen, answers = nil, {}, {}
if short and count > 1 and base == 0 then
loaded = try('MGET', unpack(names, first + 1, first + count))
if loaded.err then loaded = nil end
end
for i = 1, count do
local id, name, answer = ids[idAt + i], names[first + 1], nil
if shortWay then
local value = loaded and not seen[name] and loaded[i] or try('GET', name)
seen[name] = true
answer = shortWay(short, name, value, terms, id, (nowMs + i) % 16 == 0)
end
if not answer then
longWay = longWay or defineCalls(names, nowMs, graceMs)
answer = longWay(operation, set, first, terms, id)
end
answers[i] = answer
first = first + ruleCount
end
return table.concat(answers, ',')
end`,
  longWay: `local function decide(operation, rules, first, amount, id)
local haveHolds = operation ~= 'reset' and loadAll(rules, first)
local isHeld = haveHolds or not calls[operation]
return (isHeld and heldCalls or calls)[operation](rules, first, amount, id)
end
return function(operation, set, first, amount, id)
set.rules = set.rules or makeRules(set)
local ok, answer = pcall(decide, operation, set.rules, first, amount, id)
if ok then return answer end
local text = type(answer) == 'table' and answer.err or tostring(answer)
if isPartly then text, isPartly = 'PARTLY ' .. text, false end
return cjson.encode(text .. ' (' .. (lastKey or names[first + 1]) .. ')')
end`,
}

export const TRANSLATIONS: readonly TranslationParts[] = [
  {
    shortWay: `local function fixedWindowShortWay(nowMs, value, cost, limit, windowMs, isOnClock, elastic, countsDenied)
if elastic then return end
local expiresAt
if value then
if #value ~= 16 then return end
local used
expiresAt, used = unpackBytes('<dd', value)
local isOfWindow = expiresAt >= 0 and expiresAt <= nowMs + windowMs and used >= 0
if not isOfWindow or expiresAt % 1 + used % 1 ~= 0 then return end
if nowMs < expiresAt then
if used <= limit - cost then
used = used + cost
return used, expiresAt, packBytes('<dd', expiresAt, used), true, expiresAt
end
if countsDenied or cost > limit or used >= 2 ^ 53 then return end
return used, expiresAt, value, true, expiresAt, expiresAt - nowMs
end
if used >= 2 ^ 53 then return end
end
if cost > limit then return end
expiresAt = nowMs + windowMs
if isOnClock then expiresAt = expiresAt - nowMs % windowMs end
return cost, expiresAt, packBytes('<dd', expiresAt, cost), false, expiresAt
end`,
    findShortWay: `if name == 'plain-fixed-window' then after, way, a, b, c, d, e = after + 3, fixedWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, false, false, false elseif name == 'fixed-window' then after, way, a, b, c, d, e = after + 6, fixedWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, list[after + 4] == '1', list[after + 5] == '1', list[after + 6] == '1' end`,
    definition: `local function defineFixedWindow()
local fixedWindow = {}
local EXPIRES_AT = 1
local USED = 2
function fixedWindow.make(rule)
rule.width = 2
end
local function endOfWindow(rule, nowMs)
if rule.isOnClock then
return nowMs - nowMs % rule.windowMs + rule.windowMs
end
return nowMs + rule.windowMs
end
function fixedWindow.settle(rule, cells, nowMs)
local expiresAt = cells[EXPIRES_AT]
if nowMs >= expiresAt then
cells[EXPIRES_AT] = 0
cells[USED] = 0
elseif expiresAt > nowMs + rule.windowMs then
cells[EXPIRES_AT] = nowMs + rule.windowMs
end
end
function fixedWindow.waitMs(rule, cells, nowMs, cost)
if cost > rule.limit then return INFINITY end
if cells[USED] <= rule.limit - cost then return 0 end
return cells[EXPIRES_AT] - nowMs
end
function fixedWindow.spend(rule, cells, nowMs, cost)
if cells[EXPIRES_AT] == 0 or rule.elastic then cells[EXPIRES_AT] = endOfWindow(rule, nowMs) end
cells[USED] = math.min(cells[USED] + cost, MAX)
end
function fixedWindow.used(rule, cells)
return cells[USED]
end
function fixedWindow.put(rule, cells, nowMs, used)
if cells[EXPIRES_AT] == 0 or not rule.isOnClock then cells[EXPIRES_AT] = endOfWindow(rule, nowMs) end
cells[USED] = used
end
function fixedWindow.refund(rule, cells, nowMs, cost, endsAt)
if endsAt then
local isOver = cells[EXPIRES_AT] > endsAt
if rule.elastic then isOver = nowMs >= endsAt end
if isOver then return end
end
cells[USED] = math.max(0, cells[USED] - cost)
end
return fixedWindow
end`,
    findDefinition: `if name == 'plain-fixed-window' then return at + 3, defineFixedWindow, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0, isOnClock = false, elastic = false, countsDenied = false } elseif name == 'fixed-window' then return at + 6, defineFixedWindow, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0, isOnClock = list[at + 4] == '1', elastic = list[at + 5] == '1', countsDenied = list[at + 6] == '1' } end`,
  },
  {
    shortWay: ``,
    findShortWay: `if name == 'sliding-log' then after, way = after + 3, nil end`,
    definition: `local function defineSlidingLog()
local slidingLog = {}
local EXPIRES_AT = 1
local ENTRY = '<ddd'
local MOST_AT_ONCE = 500
local function plus(a, b)
if a > MAX - b then return a - (MAX - b) - 1 end
return a + b
end
local function minus(a, b)
if a < b then return a - b + MAX + 1 end
return a - b
end
local function countOf(log)
return log.last - log.first + 1 + #log.added
end
local function noteRead(log, place, value)
if #value ~= 24 then refuseValue() end
local time, cost, sum = struct.unpack(ENTRY, value)
if not (isWhole(time) and isWhole(cost) and isWhole(sum)) or cost == 0 then refuseValue() end
log.read[place] = { time = time, cost = cost, sum = sum }
end
function slidingLog.load(rule, key)
local length = redis.call('LLEN', key)
local log = { 0, key = key, length = length, first = 0, last = length - 1, read = {}, changed = {}, added = {}, holds = false }
if length > 0 then
local oldest = redis.call('LINDEX', key, 0)
if mayHaveHolds(oldest) then
local holds, state = splitHolds(oldest)
if state then refuseValue() end
log.holds, log.held, log.first = holds, oldest, 1
else
noteRead(log, 0, oldest)
end
end
return log
end
local function copyEntries(entries)
local copy = {}
for i, entry in pairs(entries) do copy[i] = { time = entry.time, cost = entry.cost, sum = entry.sum } end
return copy
end
function slidingLog.copy(log)
local copy = { log[EXPIRES_AT], key = log.key, length = log.length, first = log.first, last = log.last, changed = {} }
copy.read, copy.added = copyEntries(log.read), copyEntries(log.added)
return copy
end
local function entryOf(log, i)
local place = log.first + i
if place > log.last then return log.added[place - log.last] end
if not log.read[place] then noteRead(log, place, redis.call('LINDEX', log.key, place)) end
return log.read[place]
end
local function readFrom(log, i)
for place = log.first + i, log.last, MOST_AT_ONCE do
local values = redis.call('LRANGE', log.key, place, math.min(place + MOST_AT_ONCE - 1, log.last))
for j, value in ipairs(values) do
if not log.read[place + j - 1] then noteRead(log, place + j - 1, value) end
end
end
end
local function newest(log)
return entryOf(log, countOf(log) - 1)
end
local function costUpTo(log, i)
local oldest = entryOf(log, 0)
local entry = entryOf(log, i)
local cost = minus(entry.sum, oldest.sum) + oldest.cost
if cost > MAX or cost < entry.cost then refuseValue() end
return cost
end
local function totalOf(log)
local count = countOf(log)
return count == 0 and 0 or costUpTo(log, count - 1)
end
local function firstThat(log, holds)
local count = countOf(log)
local low, step = 0, 1
while low + step <= count and not holds(low + step - 1) do
low = low + step
step = 2 * step
end
local high = math.min(low + step - 1, count)
while low < high do
local middle = floorDiv(low + high, 2)
if holds(middle) then high = middle else low = middle + 1 end
end
return low
end
local function firstAfter(log, time)
return firstThat(log, function(i) return entryOf(log, i).time > time end)
end
local function firstCostUpTo(log, cost)
return firstThat(log, function(i) return costUpTo(log, i) >= cost end)
end
local function dropOldest(log, count)
local listed = math.min(count, log.last - log.first + 1)
log.first = log.first + listed
for _ = 1, count - listed do table.remove(log.added, 1) end
end
local function dropNewest(log, count)
local added = math.min(count, #log.added)
for _ = 1, added do table.remove(log.added) end
log.last = log.last - (count - added)
end
local function change(log, i, more, isNewest)
local entry = entryOf(log, i)
entry.cost = entry.cost + more
if isNewest then entry.sum = more < 0 and minus(entry.sum, -more) or plus(entry.sum, more) end
if log.first + i <= log.last then log.changed[log.first + i] = true end
end
local function append(log, nowMs, cost)
local count = countOf(log)
if count > 0 and newest(log).time == nowMs then
change(log, count - 1, cost, true)
else
local sum = count == 0 and 0 or newest(log).sum
log.added[#log.added + 1] = { time = nowMs, cost = cost, sum = plus(sum, cost) }
end
end
local function touch(rule, log)
log[EXPIRES_AT] = countOf(log) == 0 and 0 or newest(log).time + rule.windowMs
end
function slidingLog.settle(rule, log, nowMs)
dropOldest(log, firstAfter(log, nowMs - rule.windowMs))
local count = countOf(log)
if count > 0 and newest(log).time > nowMs then
local kept = firstAfter(log, nowMs)
local later = totalOf(log) - (kept == 0 and 0 or costUpTo(log, kept - 1))
dropNewest(log, count - kept)
append(log, nowMs, later)
end
touch(rule, log)
end
function slidingLog.waitMs(rule, log, nowMs, cost)
if cost > rule.limit then return INFINITY end
local excess = totalOf(log) - (rule.limit - cost)
if excess <= 0 then return 0 end
return entryOf(log, firstCostUpTo(log, excess)).time + rule.windowMs - nowMs
end
function slidingLog.spend(rule, log, nowMs, cost)
local spent = math.min(cost, MAX - totalOf(log))
if spent == 0 then return end
local isNew = countOf(log) == 0 or newest(log).time ~= nowMs
local surplus = countOf(log) + 1 - rule.limit
if isNew and surplus > 0 then
local oldest = costUpTo(log, surplus - 1)
dropOldest(log, surplus)
if countOf(log) == 0 then
spent = spent + oldest
else
change(log, 0, oldest, false)
end
end
append(log, nowMs, spent)
touch(rule, log)
end
function slidingLog.used(rule, log)
return totalOf(log)
end
function slidingLog.put(rule, log, nowMs, used)
dropNewest(log, countOf(log))
if used > 0 then append(log, nowMs, used) end
touch(rule, log)
end
local function refundAt(rule, log, time, cost)
local count = countOf(log)
local i = firstAfter(log, time - 1)
if i == count or entryOf(log, i).time ~= time then return end
local newer = {}
readFrom(log, i + 1)
for j = i + 1, count - 1 do newer[j - i] = entryOf(log, j) end
local left = entryOf(log, i).cost - cost
if left > 0 then
dropNewest(log, count - 1 - i)
change(log, i, -cost, true)
else
dropNewest(log, count - i)
end
for j = 1, #newer do append(log, newer[j].time, newer[j].cost) end
touch(rule, log)
end
function slidingLog.refund(rule, log, nowMs, cost, endsAt)
if endsAt then return refundAt(rule, log, math.min(endsAt - rule.windowMs, nowMs), cost) end
local left = totalOf(log) - cost
if left <= 0 then
dropNewest(log, countOf(log))
else
local last = firstCostUpTo(log, left)
dropNewest(log, countOf(log) - 1 - last)
local over = totalOf(log) - left
if over > 0 then change(log, last, -over, true) end
end
touch(rule, log)
end
function slidingLog.save(rule, key, log, ttlMs)
local holds = log.holds
if countOf(log) == 0 and not holds then
if log.length > 0 then redis.call('DEL', key) end
return
end
local held = log.held
for place in pairs(log.changed) do
if place >= log.first and place <= log.last then
local entry = log.read[place]
redis.call('LSET', key, place, struct.pack(ENTRY, entry.time, entry.cost, entry.sum))
end
end
if log.first > log.last then
if log.length > 0 then redis.call('DEL', key) end
held = nil
elseif log.first > (held and 1 or 0) or log.last < log.length - 1 then
redis.call('LTRIM', key, log.first, log.last)
held = nil
end
for from = 1, #log.added, MOST_AT_ONCE do
local values = {}
for i = from, math.min(from + MOST_AT_ONCE - 1, #log.added) do
local entry = log.added[i]
values[#values + 1] = struct.pack(ENTRY, entry.time, entry.cost, entry.sum)
end
redis.call('RPUSH', key, unpack(values))
end
local value = holds and joinHolds('', holds)
if value and not held then
redis.call('LPUSH', key, value)
elseif value and value ~= held then
redis.call('LSET', key, 0, value)
elseif held and not value then
redis.call('LPOP', key)
end
redis.call('PEXPIRE', key, ttlMs)
end
return slidingLog
end`,
    findDefinition: `if name == 'sliding-log' then return at + 3, defineSlidingLog, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0 } end`,
  },
  {
    shortWay: `local function slidingWindowShortWay(nowMs, value, cost, limit, windowMs, isOnClock, roundsDown, mostUsed)
if not value then
if cost > limit then return end
local start = isOnClock and nowMs - nowMs % windowMs or nowMs
local expiresAt = start + 2 * windowMs
return cost, expiresAt, packBytes('<dddd', expiresAt, start, cost, 0), false, expiresAt
end
if #value ~= 32 then return end
local expiresAt, start, current, previous = unpackBytes('<dddd', value)
local viewMs = start + windowMs - nowMs
local isOfWindow = viewMs > 0 and viewMs <= windowMs and start >= 0 and expiresAt == start + 2 * windowMs
local areCounts = current >= 1 and current <= limit - cost and previous >= 0 and previous <= mostUsed
if not (isOfWindow and areCounts) or start % 1 + current % 1 + previous % 1 ~= 0 then return end
current = current + cost
local used = current
if previous > 0 then
local inView = previous * viewMs / windowMs
used = used + (roundsDown and math.floor(inView) or math.ceil(inView))
if used > limit then return end
end
return used, expiresAt, packBytes('<dddd', expiresAt, start, current, previous), true, expiresAt
end`,
    findShortWay: `if name == 'plain-sliding-window' then after, way, a, b, c, d, e = after + 4, slidingWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, false, true, list[after + 4] + 0 elseif name == 'sliding-window' then after, way, a, b, c, d, e = after + 6, slidingWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, list[after + 4] == '1', list[after + 5] == '1', list[after + 6] + 0 end`,
    definition: `local function defineSlidingWindow()
local slidingWindow = {}
local EXPIRES_AT = 1
local START = 2
local CURRENT = 3
local PREVIOUS = 4
function slidingWindow.make(rule)
rule.width = 4
end
function slidingWindow.isSound(rule, cells)
local length = cells[EXPIRES_AT] - cells[START]
local current = cells[CURRENT]
local windowMs = current > 0 and length / 2 or length
return windowMs >= 1 and windowMs % 1 == 0 and current * windowMs <= MAX and cells[PREVIOUS] * windowMs <= MAX
end
local function startOfWindow(rule, nowMs)
if rule.isOnClock then return nowMs - nowMs % rule.windowMs end
return nowMs
end
local function longestView(rule, count, left)
if count <= left then return rule.windowMs end
if rule.roundsDown then return ceilDiv((left + 1) * rule.windowMs, count) - 1 end
return floorDiv(left * rule.windowMs, count)
end
local function touch(rule, cells)
if cells[CURRENT] > 0 then
cells[EXPIRES_AT] = cells[START] + 2 * rule.windowMs
elseif cells[PREVIOUS] > 0 then
cells[EXPIRES_AT] = cells[START] + rule.windowMs
else
cells[EXPIRES_AT] = 0
cells[START] = 0
end
end
function slidingWindow.settle(rule, cells, nowMs)
local expiresAt = cells[EXPIRES_AT]
if expiresAt == 0 then return end
local start = cells[START]
local current = cells[CURRENT]
local previous = cells[PREVIOUS]
local writtenWindowMs = current > 0 and (expiresAt - start) / 2 or expiresAt - start
if writtenWindowMs ~= rule.windowMs then
local elapsed = math.max(0, nowMs - start)
local used = 0
if elapsed < writtenWindowMs then
used = current + ceilDiv(previous * (writtenWindowMs - elapsed), writtenWindowMs)
elseif nowMs < expiresAt then
used = ceilDiv(current * (2 * writtenWindowMs - elapsed), writtenWindowMs)
end
return slidingWindow.put(rule, cells, nowMs, math.min(used, rule.mostUsed))
end
local passed = floorDiv(nowMs - start, rule.windowMs)
if passed < 0 and rule.isOnClock then
return slidingWindow.put(rule, cells, nowMs, math.min(current + previous, rule.mostUsed))
end
if passed < 0 then
cells[START] = nowMs
elseif passed == 1 then
cells[START] = start + rule.windowMs
cells[PREVIOUS] = current
cells[CURRENT] = 0
elseif passed > 1 then
cells[PREVIOUS] = 0
cells[CURRENT] = 0
end
touch(rule, cells)
end
function slidingWindow.waitMs(rule, cells, nowMs, cost)
local limit = rule.limit
local windowMs = rule.windowMs
if cost > limit then return INFINITY end
local current = cells[CURRENT]
local previous = cells[PREVIOUS]
local elapsed = cells[EXPIRES_AT] == 0 and 0 or nowMs - cells[START]
local left = limit - cost - current
if left >= 0 then return math.max(0, windowMs - longestView(rule, previous, left) - elapsed) end
return windowMs - elapsed + windowMs - longestView(rule, current, limit - cost)
end
function slidingWindow.spend(rule, cells, nowMs, cost)
if cells[EXPIRES_AT] == 0 then cells[START] = startOfWindow(rule, nowMs) end
cells[CURRENT] = math.min(cells[CURRENT] + cost, rule.mostUsed)
touch(rule, cells)
end
function slidingWindow.used(rule, cells, nowMs)
local previous = cells[PREVIOUS]
if previous == 0 then return cells[CURRENT] end
local inView = previous * (rule.windowMs - (nowMs - cells[START]))
if rule.roundsDown then return cells[CURRENT] + floorDiv(inView, rule.windowMs) end
return cells[CURRENT] + ceilDiv(inView, rule.windowMs)
end
function slidingWindow.put(rule, cells, nowMs, used)
cells[START] = startOfWindow(rule, nowMs)
cells[CURRENT] = used
cells[PREVIOUS] = 0
touch(rule, cells)
end
function slidingWindow.refund(rule, cells, nowMs, cost, endsAt)
local start = endsAt and endsAt - 2 * rule.windowMs
local isCurrent = not start or cells[START] <= start
local isPrevious = not start or (not isCurrent and cells[START] <= start + rule.windowMs)
local fromCurrent = isCurrent and math.min(cost, cells[CURRENT]) or 0
local fromPrevious = isPrevious and math.min(cost - fromCurrent, cells[PREVIOUS]) or 0
cells[CURRENT] = cells[CURRENT] - fromCurrent
cells[PREVIOUS] = cells[PREVIOUS] - fromPrevious
touch(rule, cells)
end
return slidingWindow
end`,
    findDefinition: `if name == 'plain-sliding-window' then return at + 4, defineSlidingWindow, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0, isOnClock = false, roundsDown = true, mostUsed = list[at + 4] + 0 } elseif name == 'sliding-window' then return at + 6, defineSlidingWindow, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0, isOnClock = list[at + 4] == '1', roundsDown = list[at + 5] == '1', mostUsed = list[at + 6] + 0 } end`,
  },
  {
    shortWay: `local function markOf(rate)
local bits = rate % 64
local packed = (rate - bits) / 64
local drain = packed % 2 ^ bits
local marked = 2 * (packed - drain) + drain
return marked < 2 ^ 47 and marked * 64 + bits + 1
end
local function meterLastsTo(expiresAt, drainMs)
local stepMs, frexp = 512, math.frexp
if drainMs >= 4096 and frexp then
local _, exponent = frexp(drainMs)
stepMs = 2 ^ (exponent - 3)
end
return expiresAt + stepMs - expiresAt % stepMs, stepMs
end
local lastRate, mark
local function meterShortWay(nowMs, value, cost, limit, unitsPerToken, drainPerTick, tickMs, mostUsed, rate)
if rate == 0 or cost > limit then return end
if rate ~= lastRate then lastRate, mark = rate, markOf(rate) end
local ceil = math.ceil
local debt, since, keptEnd, keptMs = 0, nowMs, 0, 0
if value then
if #value ~= 24 then return end
local expiresAt, written, writtenRate = unpackBytes('<ddd', value)
local isOwn = (writtenRate == mark or writtenRate == rate) and written > 0 and written <= mostUsed * unitsPerToken
if not isOwn or written % 1 + expiresAt % 1 ~= 0 then return end
local drainMs = ceil(written / drainPerTick) * tickMs
local start = expiresAt - drainMs
if start < 0 then return end
if nowMs < expiresAt then
local elapsed = nowMs - start
if elapsed < 0 then return end
local ticks = (elapsed - elapsed % tickMs) / tickMs
debt = written - ticks * drainPerTick
since = start + ticks * tickMs
if writtenRate == mark then keptEnd, keptMs = expiresAt, drainMs end
end
end
local waitMs
local excess = debt + (cost - limit) * unitsPerToken
if excess > 0 then
waitMs = since + ceil(excess / drainPerTick) * tickMs - nowMs
else
debt = debt + cost * unitsPerToken
end
local drainMs = ceil(debt / drainPerTick) * tickMs
local expiresAt = since + drainMs
local lastsTo, stepMs = meterLastsTo(expiresAt, drainMs)
local isSameStep = keptMs > 0 and keptMs < 8 * stepMs and (keptMs >= 4 * stepMs or stepMs == 512)
local isKept = isSameStep and keptEnd < lastsTo and keptEnd >= lastsTo - stepMs
return ceil(debt / unitsPerToken), expiresAt, packBytes('<ddd', expiresAt, debt, mark or rate), isKept, lastsTo, waitMs
end`,
    findShortWay: `if name == 'meter' or name == 'stepped-meter' or name == 'wide-meter' or name == 'wide-stepped-meter' then after, way, a, b, c, d, e, f = after + 7, meterShortWay, list[after + 2] + 0, list[after + 3] + 0, list[after + 4] + 0, list[after + 5] + 0, list[after + 6] + 0, list[after + 7] + 0 end`,
    definition: `local function defineMeter()
local meter = {}
local EXPIRES_AT = 1
local DEBT = 2
local PACE = 3
local DRAIN_PER_TICK = 4
local LENGTH_BITS = 64
function meter.unpackRate(rule, rate)
if rate == rule.mark or rate == rule.rate then return rule.pace, rule.drainPerTick end
if not isWhole(rate) then refuseValue() end
local bits = rate % LENGTH_BITS
local packed = floorDiv(rate, LENGTH_BITS)
return floorDiv(packed, 2 ^ bits), packed % 2 ^ bits + 1
end
function meter.make(rule, name)
rule.isSmooth = name == 'meter' or name == 'wide-meter'
rule.pace = rule.isSmooth and rule.unitsPerToken or rule.tickMs
rule.width = rule.rate == 0 and 4 or 3
rule.mark = rule.rate > 0 and markOf(rule.rate)
rule.windowMs = meter.drainMs(rule, rule.limit)
end
function meter.isSound(rule, cells)
local debt = cells[DEBT]
local pace = cells[PACE]
local drainPerTick = cells[DRAIN_PER_TICK]
if debt == 0 or pace == 0 or drainPerTick == 0 then return false end
return cells[EXPIRES_AT] >= ceilDiv(debt, drainPerTick) * (rule.isSmooth and 1 or pace)
end
local function owe(rule, cells, since, debt)
local owes = debt > 0
cells[EXPIRES_AT] = owes and since + ceilDiv(debt, rule.drainPerTick) * rule.tickMs or 0
cells[DEBT] = debt
cells[PACE] = owes and rule.pace or 0
cells[DRAIN_PER_TICK] = owes and rule.drainPerTick or 0
end
function meter.drainMs(rule, tokens)
return ceilDiv(math.min(tokens, rule.mostUsed) * rule.unitsPerToken, rule.drainPerTick) * rule.tickMs
end
function meter.lastsTo(rule, cells)
if not rule.mark then return cells[EXPIRES_AT] end
return (meterLastsTo(cells[EXPIRES_AT], ceilDiv(cells[DEBT], rule.drainPerTick) * rule.tickMs))
end
local function sinceOf(rule, cells, nowMs)
if rule.tickMs == 1 or cells[EXPIRES_AT] == 0 then return nowMs end
return cells[EXPIRES_AT] - ceilDiv(cells[DEBT], rule.drainPerTick) * rule.tickMs
end
local function inOwnUnits(rule, owed, pace)
if not rule.isSmooth then return math.min(owed, rule.mostUsed) end
local tokens = floorDiv(owed, pace)
local rest = owed - tokens * pace
local most = rule.mostUsed * rule.unitsPerToken
return math.min(tokens * rule.unitsPerToken + ceilMulDiv(rest, rule.unitsPerToken, pace), most)
end
function meter.settle(rule, cells, nowMs)
local expiresAt = cells[EXPIRES_AT]
if expiresAt == 0 then return end
if nowMs >= expiresAt then return owe(rule, cells, nowMs, 0) end
local pace = cells[PACE]
local drainPerTick = cells[DRAIN_PER_TICK]
local tickMs = rule.isSmooth and 1 or pace
local debt = cells[DEBT]
local since = expiresAt - ceilDiv(debt, drainPerTick) * tickMs
local ticks = math.max(0, floorDiv(nowMs - since, tickMs))
local owed = debt - ticks * drainPerTick
local isOwn = pace == rule.pace and drainPerTick == rule.drainPerTick
if isOwn then
owe(rule, cells, math.min(since + ticks * tickMs, nowMs), owed)
else
owe(rule, cells, nowMs, inOwnUnits(rule, owed, pace))
end
end
function meter.waitMs(rule, cells, nowMs, cost)
if cost > rule.limit then return INFINITY end
local excess = cells[DEBT] - (rule.limit - cost) * rule.unitsPerToken
if excess <= 0 then return 0 end
return sinceOf(rule, cells, nowMs) + ceilDiv(excess, rule.drainPerTick) * rule.tickMs - nowMs
end
function meter.spend(rule, cells, nowMs, cost)
local debt = cells[DEBT] + cost * rule.unitsPerToken
owe(rule, cells, sinceOf(rule, cells, nowMs), math.min(debt, rule.mostUsed * rule.unitsPerToken))
end
function meter.used(rule, cells)
return ceilDiv(cells[DEBT], rule.unitsPerToken)
end
function meter.put(rule, cells, nowMs, used)
owe(rule, cells, nowMs, used * rule.unitsPerToken)
end
local function leastDebt(rule, endsAt, nowMs)
local ticks = ceilDiv(endsAt - nowMs, rule.tickMs)
return ticks > 0 and (ticks - 1) * rule.drainPerTick + 1 or 0
end
function meter.refund(rule, cells, nowMs, cost, endsAt)
local debt = cells[DEBT]
local back = math.min(cost * rule.unitsPerToken, debt)
if endsAt and cells[EXPIRES_AT] > endsAt then back = math.min(back, leastDebt(rule, endsAt, nowMs)) end
owe(rule, cells, sinceOf(rule, cells, nowMs), debt - back)
end
return meter
end`,
    findDefinition: `if name == 'meter' or name == 'stepped-meter' or name == 'wide-meter' or name == 'wide-stepped-meter' then return at + 7, defineMeter, { limit = list[at + 2] + 0, unitsPerToken = list[at + 3] + 0, drainPerTick = list[at + 4] + 0, tickMs = list[at + 5] + 0, mostUsed = list[at + 6] + 0, rate = list[at + 7] + 0 } end`,
  },
  {
    shortWay: `local function calendarWindowShortWay(nowMs, value, cost, limit, startOfLast, startOfThis, startOfNext, endOfNext)
local startMs, endMs = startOfThis, startOfNext
if nowMs < startOfThis then
startMs, endMs = startOfLast, startOfThis
elseif nowMs >= startOfNext then
startMs, endMs = startOfNext, endOfNext
end
if nowMs < startMs or nowMs >= endMs then return end
local expiresAt, used = 0, 0
if value then
if #value ~= 16 then return end
expiresAt, used = unpackBytes('<dd', value)
local areInRange = expiresAt >= 0 and expiresAt <= endMs and used >= 0 and used < 2 ^ 53
if not areInRange or expiresAt % 1 + used % 1 ~= 0 then return end
end
if cost > limit then return end
if nowMs < expiresAt then
if used > limit - cost then return used, expiresAt, value, true, expiresAt, expiresAt - nowMs end
used = used + cost
return used, expiresAt, packBytes('<dd', expiresAt, used), true, expiresAt
end
return cost, endMs, packBytes('<dd', endMs, cost), false, endMs
end`,
    findShortWay: `if name == 'calendar-window' then after, way, a, b, c, d, e = after + 6, calendarWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, list[after + 4] + 0, list[after + 5] + 0, list[after + 6] + 0 end`,
    definition: `local function defineCalendarWindow()
local calendarWindow = {}
local EXPIRES_AT = 1
local USED = 2
function calendarWindow.make(rule)
rule.width = 2
rule.windowMs = rule.startOfNext - rule.startOfThis
rule.countsFrom = rule.startOfLast
end
local function windowAt(rule, nowMs)
local startMs, endMs = rule.startOfThis, rule.startOfNext
if nowMs < rule.startOfThis then
startMs, endMs = rule.startOfLast, rule.startOfThis
elseif nowMs >= rule.startOfNext then
startMs, endMs = rule.startOfNext, rule.endOfNext
end
if nowMs >= startMs and nowMs < endMs then return startMs, endMs end
error('sluice: the clocks of the process and of Redis are more than a window apart: nothing was counted; set the clocks right', 0)
end
function calendarWindow.settle(rule, cells, nowMs)
local startMs, endMs = windowAt(rule, nowMs)
local expiresAt = cells[EXPIRES_AT]
if nowMs >= expiresAt then
cells[EXPIRES_AT] = 0
cells[USED] = 0
elseif expiresAt > endMs then
cells[EXPIRES_AT] = math.min(expiresAt, nowMs + endMs - startMs)
end
end
function calendarWindow.waitMs(rule, cells, nowMs, cost)
if cost > rule.limit then return INFINITY end
if cells[USED] <= rule.limit - cost then return 0 end
return cells[EXPIRES_AT] - nowMs
end
function calendarWindow.spend(rule, cells, nowMs, cost)
if cells[EXPIRES_AT] == 0 then
local _, endMs = windowAt(rule, nowMs)
cells[EXPIRES_AT] = endMs
end
cells[USED] = math.min(cells[USED] + cost, MAX)
end
function calendarWindow.used(rule, cells)
return cells[USED]
end
function calendarWindow.put(rule, cells, nowMs, used)
if cells[EXPIRES_AT] == 0 then
local _, endMs = windowAt(rule, nowMs)
cells[EXPIRES_AT] = endMs
end
cells[USED] = used
end
function calendarWindow.refund(rule, cells, nowMs, cost, endsAt)
if endsAt and cells[EXPIRES_AT] > endsAt then return end
cells[USED] = math.max(0, cells[USED] - cost)
end
return calendarWindow
end`,
    findDefinition: `if name == 'calendar-window' then return at + 6, defineCalendarWindow, { limit = list[at + 2] + 0, startOfLast = list[at + 3] + 0, startOfThis = list[at + 4] + 0, startOfNext = list[at + 5] + 0, endOfNext = list[at + 6] + 0 } end`,
  },
  {
    shortWay: ``,
    findShortWay: `if name == 'concurrency' then after, way = after + 2, nil end`,
    definition: `local function defineConcurrency()
local concurrency = {}
function concurrency.make(rule)
rule.width = 2
rule.isHeld = true
end
function concurrency.settle() end
function concurrency.waitMs(rule, cells, nowMs, cost)
return cost > rule.limit and INFINITY or 0
end
function concurrency.spend() end
function concurrency.used()
return 0
end
function concurrency.put() end
function concurrency.refund() end
return concurrency
end`,
    findDefinition: `if name == 'concurrency' then return at + 2, defineConcurrency, { limit = list[at + 2] + 0 } end`,
  },
]
