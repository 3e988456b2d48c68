-- Runs of calls about holds, with the short way of the most frequent ones: a reserve that is granted in full, and a settle within the
-- limit, on one window, while no hold of the key has expired. The short way returns nil for any other call, which the long way does.
-- Nothing is written before that. The held units are spent by the short way of the rule, which returns the figures. A value may also be
-- an error, which is a table of length 0.
-- `terms` are those of held-operations.lua, for one charge.
--
-- The expiry of a key whose window is live covers the window. A hold that ends within the window is charged in it, if at all. So the
-- expiry is kept, unless one of the holds may end later: then the expiry depends on the length of the window, which may have changed.

local aboutHolds = { reserve = true, settle = true, cancel = true, extend = true }

local try, format, max, sub = redis.pcall, string.format, math.max, string.sub

-- Returns the short way of the only rule of a set, and its parameters; false if there is none. The state of a window is as it was
-- stored until it ends. The state of any other rule must be settled before it is stored with holds.
local function shortRuleOf(set)
  local short = set.short
  if short == nil then
    short = set.count == 1 and { shortWayOf(set.list, 0, 1) }
    local isFixed = short and short[1] == fixedWindowShortWay
    if short and (isFixed or short[1] == slidingWindowShortWay) then
      short.bytes = isFixed and 16 or 32
      -- A window ends so long before its state.
      short.lagMs = isFixed and 0 or short[3]
    else
      short = false
    end
    set.short = short
  end
  return short
end

-- Returns the parts of a value with holds: the number of bytes before the holds, the bytes of the holds, their sum and bounds, and false
-- if all are released. Returns nil if a hold has expired, or if no call has written this value.
local function partsOf(value)
  local length = #value
  if length % 8 ~= 2 or length < 26 then return end
  local units, firstEnd, lastEnd, before, form = unpackBytes('<dddBB', value, length - 25)
  local holdsEnd = length - 26
  if form == 2 then
    -- There is one hold: its id, units and end.
    holdsEnd = length - 2
    units, firstEnd = firstEnd, lastEnd
  end
  local isCharged = units > 0
  if not isCharged then units = -units end
  local count = (holdsEnd - before) / 24
  -- Each comparison is false for NaN.
  local areBounds = units >= 1 and units < 2 ^ 53 and firstEnd > nowMs and lastEnd >= firstEnd and lastEnd < 2 ^ 53
  local isForm = form == 1 and count >= 1 and count % 1 == 0 or form == 2 and count == 1
  if not isForm or not areBounds or units % 1 + lastEnd % 1 ~= 0 then return end
  return before, sub(value, before + 1, holdsEnd), units, firstEnd, lastEnd, isCharged
end

-- The end of a key with holds. A hold that is charged when it expires counts for a while after it.
local function endWithHolds(endsAt, lastEnd, isCharged, windowMs)
  return max(endsAt + windowMs, isCharged and lastEnd + 2 * windowMs or lastEnd)
end

-- The parts of a reserve that are the same for all keys and rules. Calls on different rules may share their terms.
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
  -- The bytes after the id are the same for all keys without holds whose states have the same length.
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
  -- `lastsMs` is the time until the key may expire. Without it, the key keeps its expiry.
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
    -- An expiry that covers the window is kept, and one that covers the hold if it is only a little late.
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

-- Decides a run of calls about holds, and returns their answers joined by commas. `ids` has the id of each hold, after the index
-- `idAt`. Values are read at once as in run-of-hits.lua.
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
end
