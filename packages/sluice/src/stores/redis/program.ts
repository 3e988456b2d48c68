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
}

/** SHA-1 of the general program. */
export const GENERAL_SHA1 = '68ee075bc3ddca56e9e7722ef9f1db8920b4f5c9'

/** SHA-1 of each small program. Index i is the program with the translations whose bits are set in i + 1. */
export const SMALL_SHA1 = [
  '83555e6ebd2db35c9f91e63579b24bc7d3a272fe',
  '9b3e62e7decacb5f53ab8ed9ac375383443918ac',
  '4239eb65e14119b54b9891177a4f0f1499531c2a',
  '46e7e320625054560bce2fd5cf171d76053fefa9',
  '369e878c5792762776704018681b73aa54d0692f',
  'efa3ac46d50ddae388fcef48c9237a08f489cffa',
  '6c25a829a486f4e536ce58d6e9771752e695cf0c',
  '250370544b5416b2d0bf28c75525d9bedda563e5',
  'e3d1d9c6d47713e847d46a5da53b75e9ada32af8',
  'fc68244816eae215bd492060ba898a207ba4e73c',
  '529eeaa616fc5ed73790692a7aba5653f8ab00c6',
  '9be764f04c054f86d4df11fb1ab6fc3d19c1edca',
  '0861b1248c194fe0943317b6fbcb600b44989dc6',
  'e2b03f9c31b2bb440da219e479cd289bd8c12836',
  '4de8d6ccf52480c65a9408f3e6f77082b07dd168',
]

export const PARTS: ProgramParts = {
  command: `local KEYS, ARGV = KEYS, ARGV
local call = redis.call
local names, base, nameCount = KEYS, 0, #KEYS
local at = 1
local nowMs, graceMs = '', 1000
if ARGV[1] ~= '' then
if ARGV[1] == 'x' then
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
if base > 0 then names, nameCount = ARGV, #ARGV - base end
end
if nowMs ~= '' then
nowMs, graceMs = nowMs + 0, 3600000
else
local time = call('TIME')
nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end
local packBytes, unpackBytes = struct.pack, struct.unpack`,
  hits: `local cost, costs = ARGV[at + 1], ARGV
if cost ~= '' then cost = cost + 0 else cost = nil end
local list, listAt = ARGV, at + 1
local ruleCount = ARGV[at + 2] + 0
local first, count = base, nameCount / ruleCount
local set, longWay`,
  generalHits: `local list, listAt = set.list, set.at
local cost, costs = amount, amount
if type(amount) == 'table' then cost = nil end`,
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
local seen = rules and { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
local answers = count > 1 and {}
local costAt, costStep = 0, 0
if costs == list then costAt, costStep = after, ruleCount end
for i = 1, count do
local answer, name, loaded, used, endsAt, value, loadedEnd, waitMs
if isShort then
for j = 1, ruleCount do
if rules then
local rule = rules[j]
way, a, b, c, d, e, f = rule[1], rule[2], rule[3], rule[4], rule[5], rule[6], rule[7]
end
name = names[first + j]
loaded = try('GET', name)
used, endsAt, value, loadedEnd, waitMs = way(nowMs, loaded, cost or costs[costAt + j] + 0, a, b, c, d, e, f)
if not used or waitMs and rules then
answer = nil
break
end
local figures = waitMs and format('%d,%d,%d', used, waitMs, endsAt - nowMs) or format('%d,0,%d', used, endsAt - nowMs)
answer = answer and answer .. ',' .. figures or figures
if rules then
local k = 3 * j
seen[k - 2], seen[k - 1], seen[k] = value, loadedEnd, endsAt
end
end
for j = 1, answer and ruleCount or 0 do
if rules then
local k = 3 * j
name, value, loadedEnd, endsAt = names[first + j], seen[k - 2], seen[k - 1], seen[k]
end
local refusal
if endsAt - endsAt % 512 ~= loadedEnd - loadedEnd % 512 or (nowMs + i) % 16 == 0 and try('PTTL', name) == -1 then
refusal = try('SET', name, value, 'PX', format('%d', endsAt - nowMs + graceMs)).err
elseif not waitMs then
refusal = try('SET', name, value, 'KEEPTTL').err
end
if refusal then
answer = j > 1 and cjson.encode('PARTLY ' .. refusal .. ' (' .. name .. ')') or nil
break
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
set = set or { list = list, at = listAt }
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
local runs = request.runs
local first = base
for i = 1, #runs, 4 do
local operation, set, amount, count = runs[i], sets[runs[i + 1]], runs[i + 2], runs[i + 3]
local ruleCount = set.list[1] + 0
if operation == 'hit' then
replies[#replies + 1] = runOfHits(set, ruleCount, first, count, amount)
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
rule.loaded = value
rule.loadedEnd = cells[1]
return cells
end
local function saveCells(rule, key, cells, ttlMs)
local expiresAt = cells[1]
if expiresAt == 0 then
if rule.loaded then call('DEL', key) end
return
end
local value
if rule.width == 2 then
value = packBytes('<dd', expiresAt, cells[2])
elseif rule.width == 3 then
value = packBytes('<ddd', expiresAt, cells[2], rule.rate)
else
value = packBytes('<dddd', expiresAt, cells[2], cells[3], cells[4])
end
if expiresAt ~= rule.loadedEnd or call('PTTL', key) == -1 then
call('SET', key, value, 'PX', ttlMs)
elseif value ~= rule.loaded then
call('SET', key, value, 'KEEPTTL')
end
end
local algorithms = {}
local function makeRules(set)
local rules, at = {}, set.at + 1
for i = 1, set.list[at] do
local name = set.list[at + 1]
local after, define, rule = translationOf(set.list, at)
local algorithm = algorithms[name]
if not algorithm then
algorithm = define()
algorithms[name] = algorithm
end
if algorithm.make then algorithm.make(rule, name) end
rule.algorithm = algorithm
rule.cells = rule.width and { 0, 0, 0, 0 }
rule.load = algorithm.load or loadCells
rule.save = algorithm.save or saveCells
rules[i] = rule
at = after
end
return rules
end
local function load(rule, key)
lastKey = key
local state = rule.load(rule, key)
rule.algorithm.settle(rule, state, nowMs)
return state
end
local states = {}
local sameAmounts = {}
local function amountsOf(rules, amount)
if type(amount) == 'table' then return amount end
for i = 1, #rules do sameAmounts[i] = amount end
return sameAmounts
end
local function saveAll(rules, first)
for i = 1, #rules do
local state = states[i]
isPartly = i > 1
rules[i].save(rules[i], names[first + i], state, (state[1] == 0 and 0 or state[1] - nowMs) + graceMs)
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
local state = load(rule, names[first + i])
if rule.algorithm.waitMs(rule, state, nowMs, amounts[i]) > 0 then allowed = false end
states[i] = state
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
local rule = rules[i]
local state = load(rule, names[first + i])
local ofCharge = figuresOf(rule, state, rule.algorithm.waitMs(rule, state, nowMs, amounts[i]))
figures = figures and figures .. ',' .. ofCharge or ofCharge
end
return figures
end
local function put(rules, first, amount, change)
local rule = rules[1]
local state = load(rule, names[first + 1])
rule.algorithm[change](rule, state, nowMs, amount)
local used = rule.algorithm.used(rule, state, nowMs)
states[1] = state
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
for i = 1, #rules do states[i] = load(rules[i], names[first + i]) end
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
function calls.get(rules, first)
local rule = rules[1]
return format('%d', rule.algorithm.used(rule, load(rule, names[first + 1]), nowMs))
end
function calls.expiresAt(rules, first)
return format('%d', load(rules[1], names[first + 1])[1])
end`,
  longWay: `return function(operation, set, first, amount)
set.rules = set.rules or makeRules(set)
local ok, answer = pcall(calls[operation], set.rules, first, amount)
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
local expiresAt, used = 0, 0
if value then
if #value ~= 16 then return end
expiresAt, used = unpackBytes('<dd', value)
local areInRange = expiresAt >= 0 and expiresAt <= nowMs + windowMs and used >= 0 and used < 2 ^ 53
if not areInRange or expiresAt % 1 + used % 1 ~= 0 then return end
end
if nowMs < expiresAt then
if used <= limit - cost then
used = used + cost
return used, expiresAt, packBytes('<dd', expiresAt, used), expiresAt
end
if countsDenied or cost > limit then return end
return used, expiresAt, value, expiresAt, expiresAt - nowMs
end
if cost > limit then return end
expiresAt = nowMs + windowMs
if isOnClock then expiresAt = expiresAt - nowMs % windowMs end
return cost, expiresAt, packBytes('<dd', expiresAt, cost), 0
end`,
    findShortWay: `if name == 'fixed-window' then after, way, a, b, c, d, e = after + 6, fixedWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, list[after + 4] == '1', list[after + 5] == '1', list[after + 6] == '1' end`,
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
    findDefinition: `if name == 'fixed-window' then return at + 6, defineFixedWindow, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0, isOnClock = list[at + 4] == '1', elastic = list[at + 5] == '1', countsDenied = list[at + 6] == '1' } end`,
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
function slidingLog.load(rule, key)
local length = redis.call('LLEN', key)
return { 0, key = key, length = length, first = 0, last = length - 1, read = {}, changed = {}, added = {} }
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
if countOf(log) == 0 then
if log.length > 0 then redis.call('DEL', key) end
return
end
for place in pairs(log.changed) do
if place >= log.first and place <= log.last then
local entry = log.read[place]
redis.call('LSET', key, place, struct.pack(ENTRY, entry.time, entry.cost, entry.sum))
end
end
if log.first > log.last then
if log.length > 0 then redis.call('DEL', key) end
elseif log.first > 0 or log.last < log.length - 1 then
redis.call('LTRIM', key, log.first, log.last)
end
for from = 1, #log.added, MOST_AT_ONCE do
local values = {}
for i = from, math.min(from + MOST_AT_ONCE - 1, #log.added) do
local entry = log.added[i]
values[#values + 1] = struct.pack(ENTRY, entry.time, entry.cost, entry.sum)
end
redis.call('RPUSH', key, unpack(values))
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
return cost, expiresAt, packBytes('<dddd', expiresAt, start, cost, 0), 0
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
return used, expiresAt, packBytes('<dddd', expiresAt, start, current, previous), expiresAt
end`,
    findShortWay: `if name == 'sliding-window' then after, way, a, b, c, d, e = after + 6, slidingWindowShortWay, list[after + 2] + 0, list[after + 3] + 0, list[after + 4] == '1', list[after + 5] == '1', list[after + 6] + 0 end`,
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
    findDefinition: `if name == 'sliding-window' then return at + 6, defineSlidingWindow, { limit = list[at + 2] + 0, windowMs = list[at + 3] + 0, isOnClock = list[at + 4] == '1', roundsDown = list[at + 5] == '1', mostUsed = list[at + 6] + 0 } end`,
  },
  {
    shortWay: `local function meterShortWay(nowMs, value, cost, limit, unitsPerToken, drainPerTick, tickMs, mostUsed, rate)
if rate == 0 then return end
local ceil = math.ceil
local debt, since, loadedEnd = 0, nowMs, 0
if value then
if #value ~= 24 then return end
local expiresAt, written, writtenRate = unpackBytes('<ddd', value)
local isOwn = writtenRate == rate and written > 0 and written <= mostUsed * unitsPerToken
if not isOwn or written % 1 + expiresAt % 1 ~= 0 then return end
local start = expiresAt - ceil(written / drainPerTick) * tickMs
if start < 0 then return end
if nowMs < expiresAt then
local elapsed = nowMs - start
if elapsed < 0 then return end
local ticks = (elapsed - elapsed % tickMs) / tickMs
debt = written - ticks * drainPerTick
since = start + ticks * tickMs
loadedEnd = expiresAt
end
end
debt = debt + cost * unitsPerToken
if debt > limit * unitsPerToken then return end
local expiresAt = since + ceil(debt / drainPerTick) * tickMs
return ceil(debt / unitsPerToken), expiresAt, packBytes('<ddd', expiresAt, debt, rate), loadedEnd
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
if rate == rule.rate then return rule.pace, rule.drainPerTick end
if not isWhole(rate) then refuseValue() end
local bits = rate % LENGTH_BITS
local packed = floorDiv(rate, LENGTH_BITS)
return floorDiv(packed, 2 ^ bits), packed % 2 ^ bits + 1
end
function meter.make(rule, name)
rule.isSmooth = name == 'meter' or name == 'wide-meter'
rule.pace = rule.isSmooth and rule.unitsPerToken or rule.tickMs
rule.width = rule.rate == 0 and 4 or 3
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
]
