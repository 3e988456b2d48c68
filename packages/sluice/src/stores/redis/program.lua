-- Decides a list of calls, each over one or several rules, in one atomic step on Redis' own clock.
-- KEYS: for each call, in order, one key a rule of its set, all of one hash slot; after them, if `nth` is set, where it is
-- noted which commands of this sender have been executed.
-- ARGV[1]: JSON of { sets, runs, now?, nth?, sentAs? }: sets as lists of rules, a rule as its algorithm and numbers; runs of
-- calls that are alike as op, set, amount and how many, one after another; nth counts the commands of a sender, and sentAs is
-- the nth under which the same calls were sent before.
-- Answers JSON of a list of whole numbers, of each call in order; −1 stands for Infinity. A call that failed, before it wrote
-- anything, answers what went wrong instead. One text, because some clients take longer to read a list than Redis to make it.

local KEYS = KEYS
local call = redis.call
local pack, unpack = struct.pack, struct.unpack
local format = string.format
local request = cjson.decode(ARGV[1])

-- Some clients send a command again whose answer was lost with the connection. Noted are the newest of a sender's commands
-- that was executed and, a bit each, which of the 31 before it were, as commands may overtake one another; older ones count as executed.
local NOTED = 31
local NOTED_MS = 600000

local function noteOnce(key, nth, sentAs)
  local newest, executed = 0, 0
  local note = call('GET', key)
  if note then newest, executed = unpack('<di4', note) end
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
  call('SET', key, pack('<di4', newest, executed), 'PX', NOTED_MS)
  return true
end

if request.nth and not noteOnce(KEYS[#KEYS], request.nth, request.sentAs) then
  return redis.error_reply('REPEATED this command was sent before, and its answer was lost')
end

-- How long a key outlives what it means: little; under a clock of the caller's own, which Redis' expiry knows nothing of, an hour.
local GRACE_MS = request.now and 3600000 or 1000

local nowMs = request.now
if not nowMs then
  -- Read once: TIME moves on while a script runs.
  local time = call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- States of fixed width are their cells, eight bytes each, of which the first is when the state ends. One table serves all
-- calls of a rule: each is done with it before the next begins.
local function loadCells(rule, key)
  local cells = rule.cells
  local value = call('GET', key)
  if not value then
    cells[1], cells[2], cells[3], cells[4] = 0, 0, 0, 0
  elseif #value ~= rule.width * 8 then
    error('sluice: the value of ' .. key .. ' is not a state of its rule', 0)
  elseif rule.width == 2 then
    cells[1], cells[2] = unpack('<dd', value)
  else
    cells[1], cells[2], cells[3], cells[4] = unpack('<dddd', value)
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
  local value = rule.width == 2 and pack('<dd', expiresAt, cells[2])
    or pack('<dddd', expiresAt, cells[2], cells[3], cells[4])
  -- While the end stays, so does the key's expiry; but a key that has lost it must not live for ever.
  if expiresAt ~= rule.loadedEnd or call('PTTL', key) == -1 then
    call('SET', key, value, 'PX', ttlMs)
  elseif value ~= rule.loaded then
    call('SET', key, value, 'KEEPTTL')
  end
end

-- An algorithm is defined when a rule needs it: the whole program runs with every command, and pays for what it makes.
local DEFINE = {
  ['fixed-window'] = defineFixedWindow,
  ['sliding-log'] = defineSlidingLog,
  ['sliding-window'] = defineSlidingWindow,
  meter = defineMeter,
  ['stepped-meter'] = defineMeter,
}

local algorithms = {}

local function makeRule(name, numbers)
  local algorithm = algorithms[name]
  if not algorithm then
    algorithm = DEFINE[name]()
    algorithms[name] = algorithm
  end
  local rule = algorithm.make(numbers, name)
  rule.algorithm = algorithm
  rule.cells = rule.width and { 0, 0, 0, 0 }
  rule.load = algorithm.load or loadCells
  rule.save = algorithm.save or saveCells
  return rule
end

local sets = {}
for i, set in ipairs(request.sets) do
  sets[i] = {}
  for j, numbers in ipairs(set) do
    sets[i][j] = makeRule(table.remove(numbers, 1), numbers)
  end
end

local answer = {}
local at = 0

-- %d and not tostring(), which keeps only 14 digits.
local function say(number)
  at = at + 1
  answer[at] = format('%d', number)
end

local function load(rule, key)
  local state = rule.load(rule, key)
  rule.algorithm.settle(rule, state, nowMs)
  return state
end

-- Of the call that is being decided, by rule.
local states = {}
local waits = {}

-- Several rules are one decision: all or nothing. Each state is written last, as a log reads its entries by their places.
local function decide(set, firstKey, cost, op)
  local isHit = op == 'hit'
  local allowed = true
  for i = 1, #set do
    local rule = set[i]
    local state = load(rule, KEYS[firstKey + i])
    local waitMs = rule.algorithm.waitMs(rule, state, nowMs, cost)
    if waitMs > 0 then allowed = false end
    states[i] = state
    waits[i] = waitMs
  end
  for i = 1, #set do
    local rule = set[i]
    local algorithm = rule.algorithm
    local state = states[i]
    local waitMs = waits[i]
    if isHit and (allowed or rule.countsDenied) then algorithm.spend(rule, state, nowMs, cost) end
    -- A denied hit that counts may have moved the end of the wait.
    if isHit and not allowed then waitMs = algorithm.waitMs(rule, state, nowMs, cost) end
    local used = algorithm.used(rule, state, nowMs)
    local resetAfterMs = state[1] == 0 and 0 or state[1] - nowMs
    at = at + 1
    answer[at] = format('%d,%d,%d', used, waitMs == INFINITY and -1 or waitMs, resetAfterMs)
    if isHit then rule.save(rule, KEYS[firstKey + i], state, resetAfterMs + GRACE_MS) end
  end
end

-- A hit by the short way, if it is one of that kind. Every sixteenth call of a command, the first among them, takes the long
-- way all the same, on which a key that has lost its expiry is noticed.
local function hitShort(set, firstKey, cost, op, shortWay)
  local used, expiresAt
  if firstKey % 16 > 0 then used, expiresAt = shortWay(KEYS[firstKey + 1]) end
  if not used then return decide(set, firstKey, cost, op) end
  at = at + 1
  answer[at] = format('%d,0,%d', used, expiresAt - nowMs)
end

local CHANGES = { inc = 'spend', set = 'put', refund = 'refund' }

local function change(set, firstKey, amount, op)
  for i, rule in ipairs(set) do states[i] = load(rule, KEYS[firstKey + i]) end
  for i, rule in ipairs(set) do
    local state = states[i]
    rule.algorithm[CHANGES[op]](rule, state, nowMs, amount)
    if i == 1 then say(rule.algorithm.used(rule, state, nowMs)) end
    rule.save(rule, KEYS[firstKey + i], state, state[1] - nowMs + GRACE_MS)
  end
end

local function look(set, firstKey, _, op)
  local rule = set[1]
  local state = load(rule, KEYS[firstKey + 1])
  say(op == 'get' and rule.algorithm.used(rule, state, nowMs) or state[1])
end

local function forget(set, firstKey)
  for i = 1, #set do call('DEL', KEYS[firstKey + i]) end
  say(0)
end

local OPS = {
  hit = decide,
  peek = decide,
  inc = change,
  set = change,
  refund = change,
  get = look,
  expiresAt = look,
  reset = forget,
}

local runs = request.runs
local firstKey = 0
for i = 1, #runs, 4 do
  local op, set, amount, count = runs[i], sets[runs[i + 1]], runs[i + 2], runs[i + 3]
  local alone = op == 'hit' and #set == 1 and set[1]
  local shortWay = alone and alone.algorithm.shortWay and alone.algorithm.shortWay(alone, nowMs, amount)
  local run = shortWay and hitShort or OPS[op]
  for _ = 1, count do
    local before = at
    local ok, problem = pcall(run, set, firstKey, amount, op, shortWay)
    if not ok then
      for j = before + 2, at do answer[j] = nil end
      at = before + 1
      local text = type(problem) == 'table' and problem.err or tostring(problem)
      answer[at] = cjson.encode(text .. ' (' .. KEYS[firstKey + 1] .. ')')
    end
    firstKey = firstKey + #set
  end
end

return '[' .. table.concat(answer, ',') .. ']'
