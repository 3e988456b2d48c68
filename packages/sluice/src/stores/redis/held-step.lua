-- Translation of core/held-step.ts, with the same names: decides calls on states with holds. `heldCalls` gets a function for each
-- operation. The states were loaded, and are not settled.

local heldCalls = {}

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

-- Returns the state as if its held units were spent now.
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
  -- One hold is mostly enough. Then they are not sorted, which would keep Redis busy.
  local firstEnd, units = firstToEnd(state.holds)
  if units >= over and isWhole(units) and isWhole(firstEnd) then return firstEnd - nowMs end
  for _, hold in ipairs(holdsByEnd(state.holds)) do
    over = over - math.abs(hold.units)
    if over <= 0 then return hold.expiresAt - nowMs end
  end
  return INFINITY
end

-- Returns the units used, the wait and the end of a charge.
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
end
