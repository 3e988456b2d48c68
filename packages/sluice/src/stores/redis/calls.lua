-- Every kind of call on every rule, by the definitions. → answers a call: op, index of its set, amount, index before its keys; and
-- tells the key that was looked at last, for when that has failed. A call fails before it writes anything.
-- %d and not tostring(), which keeps only 14 digits.

local function defineCalls(toldSets, nowMs, graceMs)
  local KEYS = KEYS
  local call = redis.call
  local pack, unpack = struct.pack, struct.unpack
  local format = string.format

  -- States of fixed width are their cells, eight bytes each, of which the first is when the state ends. One table serves all
  -- calls of a rule: each is done with it before the next begins.
  local function loadCells(rule, key)
    local cells = rule.cells
    local value = call('GET', key)
    if not value then
      cells[1], cells[2], cells[3], cells[4] = 0, 0, 0, 0
    elseif #value ~= rule.width * 8 then
      refuseValue()
    elseif rule.width == 2 then
      cells[1], cells[2] = unpack('<dd', value)
      if not (isWhole(cells[1]) and isWhole(cells[2])) then refuseValue() end
    else
      local a, b, c, d = unpack('<dddd', value)
      -- As isWhole says of each, in one go: a call for each would be a tenth of what the hit costs.
      local areWhole = a % 1 + b % 1 + c % 1 + d % 1 == 0 and a >= 0 and b >= 0 and c >= 0 and d >= 0
      if not (areWhole and a <= MAX and b <= MAX and c <= MAX and d <= MAX) then refuseValue() end
      cells[1], cells[2], cells[3], cells[4] = a, b, c, d
      if not rule.algorithm.isSound(rule, cells) then refuseValue() end
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

  local algorithms = {}

  -- A rule is its parameters by name, and what its algorithm adds. An algorithm is defined when a rule needs it.
  local function makeRule(told)
    local name = told[1]
    local rule, define = translationOf(told)
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
      for i, told in ipairs(toldSets[index]) do set[i] = makeRule(told) end
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

  -- Of the call that is being decided, by rule.
  local states = {}
  local waits = {}
  local resets = {}

  -- Several rules are one decision: all or nothing. The states are written last: a log reads its entries by their places, and may
  -- find one that cannot be used.
  local function decide(set, firstKey, cost, op)
    local isHit = op == 'hit'
    local allowed = true
    local answer
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
      local ofRule = format('%d,%d,%d', used, waitMs == INFINITY and -1 or waitMs, resetAfterMs)
      answer = answer and answer .. ',' .. ofRule or ofRule
      resets[i] = resetAfterMs
    end
    if not isHit then return answer end
    for i = 1, #set do set[i].save(set[i], KEYS[firstKey + i], states[i], resets[i] + graceMs) end
    return answer
  end

  local CHANGES = { inc = 'spend', set = 'put', refund = 'refund' }

  local function change(set, firstKey, amount, op)
    local answer
    for i, rule in ipairs(set) do states[i] = load(rule, KEYS[firstKey + i]) end
    for i, rule in ipairs(set) do
      local state = states[i]
      rule.algorithm[CHANGES[op]](rule, state, nowMs, amount)
      answer = answer or format('%d', rule.algorithm.used(rule, state, nowMs))
    end
    for i, rule in ipairs(set) do rule.save(rule, KEYS[firstKey + i], states[i], states[i][1] - nowMs + graceMs) end
    return answer
  end

  local function look(set, firstKey, _, op)
    local rule = set[1]
    local state = load(rule, KEYS[firstKey + 1])
    return format('%d', op == 'get' and rule.algorithm.used(rule, state, nowMs) or state[1])
  end

  local function forget(set, firstKey)
    for i = 1, #set do call('DEL', KEYS[firstKey + i]) end
    return '0'
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

  local function answerTo(op, setIndex, amount, firstKey) return OPS[op](setOf(setIndex), firstKey, amount, op) end

  return answerTo, function() return lastKey end
end
