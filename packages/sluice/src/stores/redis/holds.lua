-- Translation of core/holds.ts. The holds of a state are bytes: three numbers for each, its id, its units (negative if they are
-- released when it expires), and its end. They stay bytes, because the holds of a key may be many, and a call needs few of them.
-- `units` is the sum of all units. No hold ends before `firstEnd` or after `lastEnd`. `isCharged` is false if all are released when they
-- expire. None of these depends on the rule, because a rule may get another window while holds are open.

local HOLD_BYTES = 24
-- Forms of a value with several holds, and with one.
local SEVERAL, ONE = 1, 2

-- A value with holds has these parts: the value of the state alone, or nothing if it is that of a key that was never hit; the holds; if
-- there are several, their sum (negative if all are released when they expire) and their bounds; the number of bytes before the holds;
-- and the number of the form. No other value has such a length.
local function mayHaveHolds(value)
  return #value % 8 == 2
end

-- Returns id, units and end of the hold whose bytes begin after the index `at`.
local function holdAt(holds, at)
  local id, units, expiresAt = struct.unpack('<ddd', holds.bytes, at + 1)
  if not (isWhole(math.abs(units)) and isWhole(expiresAt)) or units == 0 then refuseValue() end
  return id, units, expiresAt
end

-- Returns the holds in a value, and the value of the state alone, or false.
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

-- Returns the index before the hold with this id; nil if there is none.
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

-- Finds `lastEnd` and `isCharged` again after the hold that ended last was dropped or changed.
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

-- Returns units and end of every hold, those that end first at the front.
local function holdsByEnd(holds)
  local list = {}
  for at = 0, #holds.bytes - 1, HOLD_BYTES do
    local _, units, expiresAt = holdAt(holds, at)
    list[#list + 1] = { units = units, expiresAt = expiresAt, at = at }
  end
  table.sort(list, endsEarlier)
  return list
end

-- Returns the end and the units of a hold that ends first.
local function firstToEnd(holds)
  local firstEnd, units = INFINITY, 0
  for at = 0, #holds.bytes - 1, HOLD_BYTES do
    local unitsOf, endOf = struct.unpack('<dd', holds.bytes, at + 9)
    if endOf < firstEnd then firstEnd, units = endOf, unitsOf end
  end
  return firstEnd, math.abs(units)
end

-- Drops the holds that have expired. Returns them, those that ended first at the front. Only these are sorted: a key with many holds
-- would otherwise keep Redis busy each time one of them expires.
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

-- The time up to which a key must last; 0 if there is nothing to keep. A hold that is charged when it expires lets a bucket in debt end
-- later, by at most one window for all holds together. If the limit was larger when they were granted, they may take longer to drain.
local function lastsTo(rule, state)
  local ofRule, drainMs, holds = rule.algorithm.lastsTo, rule.algorithm.drainMs, state.holds
  if not holds then return ofRule and state[1] > 0 and ofRule(rule, state) or state[1] end
  local excessMs = drainMs and math.max(0, drainMs(rule, holds.units) - rule.windowMs) or 0
  local lastEnd = holds.isCharged and holds.lastEnd + 2 * rule.windowMs or holds.lastEnd
  return math.max(state[1] == 0 and 0 or state[1] + rule.windowMs, lastEnd) + excessMs
end
