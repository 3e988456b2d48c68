local MAX = 9007199254740991
local INFINITY = math.huge
local function floorDiv(dividend, divisor)
return math.floor(dividend / divisor)
end
local function ceilDiv(dividend, divisor)
return math.ceil(dividend / divisor)
end
local function refuseValue()
error('sluice: this value is not a state of its rule: reset() removes it', 0)
end
local function isWhole(number)
return number >= 0 and number <= MAX and number % 1 == 0
end
local function fixedWindowShortWay(rule, nowMs, cost)
if rule.elastic then return nil end
local try, format, pack, unpack = redis.pcall, string.format, struct.pack, struct.unpack
local mostUsed = rule.limit - cost
local latestEnd = nowMs + rule.windowMs
return function(key, looksForExpiry)
local value = try('GET', key)
if not value or #value ~= 16 then return end
local expiresAt, used = unpack('<dd', value)
local isLive = expiresAt > nowMs and expiresAt <= latestEnd and expiresAt % 1 == 0
if not (isLive and used >= 0 and used <= mostUsed and used % 1 == 0) then return end
if looksForExpiry and try('PTTL', key) == -1 then return end
used = used + cost
if try('SET', key, pack('<dd', expiresAt, used), 'KEEPTTL').err then return end
return format('%d,0,%d', used, expiresAt - nowMs)
end
end
local function defineFixedWindow()
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
end
local function defineSlidingLog()
local slidingLog = {}
local EXPIRES_AT = 1
local ENTRY = '<ddd'
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
local function entryOf(log, i)
local place = log.first + i
if place > log.last then return log.added[place - log.last] end
local entry = log.read[place]
if not entry then
local value = redis.call('LINDEX', log.key, place)
if #value ~= 24 then refuseValue() end
local time, cost, sum = struct.unpack(ENTRY, value)
if not (isWhole(time) and isWhole(cost) and isWhole(sum)) or cost == 0 then refuseValue() end
entry = { time = time, cost = cost, sum = sum }
log.read[place] = entry
end
return entry
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
for _, entry in ipairs(log.added) do
redis.call('RPUSH', key, struct.pack(ENTRY, entry.time, entry.cost, entry.sum))
end
redis.call('PEXPIRE', key, ttlMs)
end
return slidingLog
end
local function defineSlidingWindow()
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
end
local function defineMeter()
local meter = {}
local EXPIRES_AT = 1
local DEBT = 2
local PACE = 3
local DRAIN_PER_TICK = 4
local LENGTH_BITS = 64
local MOST_PACKED = 2 ^ 47
local function packRate(pace, drainPerTick)
local bits = 0
while 2 ^ bits < drainPerTick do bits = bits + 1 end
local packed = pace * 2 ^ bits + drainPerTick - 1
return packed < MOST_PACKED and packed * LENGTH_BITS + bits or 0
end
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
rule.rate = packRate(rule.pace, rule.drainPerTick)
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
return math.min(tokens * rule.unitsPerToken + math.ceil((rest * rule.unitsPerToken) / pace), most)
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
end
local function translationOf(described)
local name = described[1]
if name == 'fixed-window' then return { limit = described[2], windowMs = described[3], isOnClock = described[4], elastic = described[5], countsDenied = described[6] }, defineFixedWindow, fixedWindowShortWay end
if name == 'sliding-log' then return { limit = described[2], windowMs = described[3] }, defineSlidingLog, nil end
if name == 'sliding-window' then return { limit = described[2], windowMs = described[3], isOnClock = described[4], roundsDown = described[5], mostUsed = described[6] }, defineSlidingWindow, nil end
if name == 'meter' or name == 'stepped-meter' or name == 'wide-meter' or name == 'wide-stepped-meter' then return { limit = described[2], unitsPerToken = described[3], drainPerTick = described[4], tickMs = described[5], mostUsed = described[6] }, defineMeter, nil end
end
local function defineCalls(describedSets, nowMs, graceMs)
local KEYS = KEYS
local call = redis.call
local pack, unpack = struct.pack, struct.unpack
local format = string.format
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
cells[1], cells[2] = unpack('<dd', value)
if not (isWhole(cells[1]) and isWhole(cells[2])) then refuseValue() end
elseif width >= 3 and (#value == width * 8 or #value == 32) then
local a, b, c, d
if #value == 32 then
a, b, c, d = unpack('<dddd', value)
else
a, b, c = unpack('<ddd', value)
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
value = pack('<dd', expiresAt, cells[2])
elseif rule.width == 3 then
value = pack('<ddd', expiresAt, cells[2], rule.rate)
else
value = pack('<dddd', expiresAt, cells[2], cells[3], cells[4])
end
if expiresAt ~= rule.loadedEnd or call('PTTL', key) == -1 then
call('SET', key, value, 'PX', ttlMs)
elseif value ~= rule.loaded then
call('SET', key, value, 'KEEPTTL')
end
end
local algorithms = {}
local function makeRule(described)
local name = described[1]
local rule, define = translationOf(described)
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
return rule
end
local sets = {}
local function setOf(index)
if not sets[index] then
local set = {}
for i, described in ipairs(describedSets[index]) do set[i] = makeRule(described) end
sets[index] = set
end
return sets[index]
end
local lastKey
local function load(rule, key)
lastKey = key
local state = rule.load(rule, key)
rule.algorithm.settle(rule, state, nowMs)
return state
end
local states = {}
local sameAmounts = {}
local function amountsOf(set, amount)
if type(amount) == 'table' then return amount end
for i = 1, #set do sameAmounts[i] = amount end
return sameAmounts
end
local function saveAll(set, firstKey)
for i = 1, #set do
local state = states[i]
set[i].save(set[i], KEYS[firstKey + i], state, (state[1] == 0 and 0 or state[1] - nowMs) + graceMs)
end
end
local function figuresOf(rule, state, waitMs)
local used = rule.algorithm.used(rule, state, nowMs)
local resetAfterMs = state[1] == 0 and 0 or state[1] - nowMs
return format('%d,%d,%d', used, waitMs == INFINITY and -1 or waitMs, resetAfterMs)
end
local function hit(set, firstKey, amount)
local amounts = amountsOf(set, amount)
local allowed = true
local figures
for i = 1, #set do
local rule = set[i]
local state = load(rule, KEYS[firstKey + i])
if rule.algorithm.waitMs(rule, state, nowMs, amounts[i]) > 0 then allowed = false end
states[i] = state
end
for i = 1, #set do
local rule = set[i]
local algorithm = rule.algorithm
local state = states[i]
if allowed or rule.countsDenied then algorithm.spend(rule, state, nowMs, amounts[i]) end
local waitMs = allowed and 0 or algorithm.waitMs(rule, state, nowMs, amounts[i])
local ofCharge = figuresOf(rule, state, waitMs)
figures = figures and figures .. ',' .. ofCharge or ofCharge
end
saveAll(set, firstKey)
return figures
end
local function timedHit(set, firstKey, amount)
return hit(set, firstKey, amount) .. ',' .. format('%d', nowMs)
end
local function peek(set, firstKey, amount)
local amounts = amountsOf(set, amount)
local figures
for i = 1, #set do
local rule = set[i]
local state = load(rule, KEYS[firstKey + i])
local ofCharge = figuresOf(rule, state, rule.algorithm.waitMs(rule, state, nowMs, amounts[i]))
figures = figures and figures .. ',' .. ofCharge or ofCharge
end
return figures
end
local function put(set, firstKey, amount, operation)
local rule = set[1]
local state = load(rule, KEYS[firstKey + 1])
rule.algorithm[operation == 'inc' and 'spend' or 'put'](rule, state, nowMs, amount)
local used = rule.algorithm.used(rule, state, nowMs)
states[1] = state
saveAll(set, firstKey)
return format('%d', used)
end
local function refund(set, firstKey, amount)
local amounts = amountsOf(set, amount)
local ends = type(amount) == 'table' and amount
for i = 1, #set do states[i] = load(set[i], KEYS[firstKey + i]) end
local usedOnFirst
for i = 1, #set do
local rule = set[i]
rule.algorithm.refund(rule, states[i], nowMs, amounts[i], ends and ends[#set + i])
usedOnFirst = usedOnFirst or rule.algorithm.used(rule, states[i], nowMs)
end
saveAll(set, firstKey)
return format('%d', usedOnFirst)
end
local function reset(set, firstKey)
for i = 1, #set do call('DEL', KEYS[firstKey + i]) end
return '0'
end
local function get(set, firstKey)
local rule = set[1]
return format('%d', rule.algorithm.used(rule, load(rule, KEYS[firstKey + 1]), nowMs))
end
local function expiresAt(set, firstKey)
return format('%d', load(set[1], KEYS[firstKey + 1])[1])
end
local OPERATIONS = {
hit = hit,
timedHit = timedHit,
peek = peek,
inc = put,
set = put,
refund = refund,
reset = reset,
get = get,
expiresAt = expiresAt,
}
local function step(operation, setIndex, amount, firstKey)
return OPERATIONS[operation](setOf(setIndex), firstKey, amount, operation)
end
return step, function() return lastKey end
end
local KEYS = KEYS
local call = redis.call
local request = cjson.decode(ARGV[1])
local NOTED = 31
local NOTED_MS = 600000
local function noteOnce(key, nth, sentAs)
local newest, executed = 0, 0
local note = redis.pcall('GET', key)
if type(note) == 'string' and #note == 12 then newest, executed = struct.unpack('<di4', note) end
if not isWhole(newest) then newest, executed = 0, 0 end
local function wasExecuted(older)
local age = newest - older
return age >= 0 and age <= NOTED and bit.band(executed, bit.lshift(1, age)) ~= 0
end
local age = newest - nth
if age > NOTED or wasExecuted(nth) or (sentAs and wasExecuted(sentAs)) then return false end
if age >= 0 then
executed = bit.bor(executed, bit.lshift(1, age))
else
executed = bit.bor(age < -NOTED and 0 or bit.lshift(executed, -age), 1)
newest = nth
end
call('SET', key, struct.pack('<di4', newest, executed), 'PX', NOTED_MS)
return true
end
if request.nth and not noteOnce(KEYS[#KEYS], request.nth, request.sentAs) then
return redis.error_reply('REPEATED this command was sent before, and its answer was lost')
end
local graceMs = request.now and 3600000 or 1000
local nowMs = request.now
if not nowMs then
local time = call('TIME')
nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end
local step, keyOfLast
local function longWay(operation, setIndex, amount, firstKey)
if not step then step, keyOfLast = defineCalls(request.sets, nowMs, graceMs) end
local ok, answer = pcall(step, operation, setIndex, amount, firstKey)
if ok then return answer end
local text = type(answer) == 'table' and answer.err or tostring(answer)
return cjson.encode(text .. ' (' .. (keyOfLast() or KEYS[firstKey + 1]) .. ')')
end
local answers = {}
local at = 0
local runs = request.runs
local firstKey = 0
for i = 1, #runs, 4 do
local operation, setIndex, amount, count = runs[i], runs[i + 1], runs[i + 2], runs[i + 3]
local set = request.sets[setIndex]
local shortWay
if operation == 'hit' and #set == 1 then
local rule, _, shortWayOf = translationOf(set[1])
shortWay = shortWayOf and shortWayOf(rule, nowMs, amount)
end
for _ = 1, count do
at = at + 1
answers[at] = shortWay and shortWay(KEYS[firstKey + 1], at % 16 == 1) or longWay(operation, setIndex, amount, firstKey)
firstKey = firstKey + #set
end
end
return '[' .. table.concat(answers, ',') .. ']'