-- The operations of core/held-step.ts that only the general program has.

function heldCalls.timedHit(rules, first, amount)
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

-- Held units count as used. They stay held.
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

-- `terms`: the amount of each charge; the least units that each holds, or −1 if it is spent; the hold's ttlMs; 1 if it is charged when
-- it expires; and the most holds of a state.
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

-- `terms`: the amount of each charge, and the hold's ttlMs.
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
end
