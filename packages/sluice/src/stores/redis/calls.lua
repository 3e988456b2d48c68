-- The translation of core/step.ts, with the same names: decides a call over the states of its charges, all or nothing.
-- `calls` gets a function for each operation. Its arguments: the rules, the index before the names, the amount. The states were
-- loaded and settled, and none of them has holds. A call fails before it writes anything, or `isPartly` is true. Numbers are written with %d, because tostring() keeps only 14 digits.

local calls = {}
local call, format = redis.call, string.format
local packBytes, unpackBytes = struct.pack, struct.unpack
local lastKey
local isPartly = false

-- Returns true if isWhole is true for all four. One function for all, because four calls would be a tenth of a hit's cost.
local function areWhole(a, b, c, d)
  local haveNoFraction = a % 1 + b % 1 + c % 1 + d % 1 == 0
  return haveNoFraction and a >= 0 and b >= 0 and c >= 0 and d >= 0 and a <= MAX and b <= MAX and c <= MAX and d <= MAX
end

-- Reads a state of fixed width. Its value is the cells, eight bytes each. The first cell is the time when the state ends. The
-- value of a meter has three numbers, with the third and fourth cell in one. Values with four numbers, which older versions
-- wrote for all meters, are read too. All calls of a rule share one table, because each call ends before the next one begins.
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
  -- The expiry of a key with holds is another one, and so is that of a meter of an earlier version.
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
  -- If the key must last as long as before, its expiry is kept. The end alone does not tell: after a step back of the clock, a larger
  -- debt may have the same end and a longer step. A key that has lost its expiry gets one, so that it does not live for ever.
  if holds then
    value = joinHolds(value, holds)
    -- The rule may have got a longer window, so the key must last longer, although its value is the same.
    if value ~= rule.loaded or call('PTTL', key) < ttlMs - graceMs then call('SET', key, value, 'PX', ttlMs) end
  elseif keptTo ~= rule.loadedTo or call('PTTL', key) == -1 then
    call('SET', key, value, 'PX', ttlMs)
  elseif value ~= rule.loaded then
    call('SET', key, value, 'KEEPTTL')
  end
end

local algorithms = {}

-- Makes the rules of a set: their parameters by name, with the functions of their algorithms. An algorithm is defined when a rule
-- needs it. `set.list` has the number of rules, and the algorithm and the parameters of each rule, after the index `set.at`. If it does
-- not have the number, `set.count` does.
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

-- States of the present call, by charge.
local states = {}

-- Loads the states of a call. Returns true if one of them has holds. If none has, all are settled.
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

-- Returns the amount of each charge. `amount` is a number for all charges, or a list.
local function amountsOf(rules, amount)
  if type(amount) == 'table' then return amount end
  for i = 1, #rules do sameAmounts[i] = amount end
  return sameAmounts
end

-- Writes all states, after all have been decided: a log reads entries when it needs them, and may find one that it must refuse.
-- Redis may refuse a write after others, for example of a key that expired just now in a slot that is moving to another node.
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
    -- Computed again, because a denied hit that counts may have made the wait longer.
    local waitMs = allowed and 0 or algorithm.waitMs(rule, state, nowMs, amounts[i])
    local ofCharge = figuresOf(rule, state, waitMs)
    figures = figures and figures .. ',' .. ofCharge or ofCharge
  end
  saveAll(rules, first)
  return figures
end
