-- The short way of the most frequent calls about holds: a reserve that is granted in full, and a settle within the limit, on one rule,
-- while no hold of the key has expired. It returns nil for any other call, which the long way does. Nothing is written before that.
-- The held units are spent by the short way of the rule, which returns the figures.
-- `terms` are those of held-operations.lua, for one charge.

local aboutHolds = { reserve = true, settle = true, cancel = true, extend = true }

local max, min, sub = math.max, math.min, string.sub

-- Returns the short way of the only rule of a set, and its parameters; false if there is none. The state of a window is as it was
-- stored until it ends. The state of any other rule must be settled before it is stored with holds.
local function shortRuleOf(set)
  local short = set.short
  if short == nil then
    short = set.count == 1 and { shortWayOf(set.list, 0, 1) }
    local isWindow = short and (short[1] == fixedWindowShortWay or short[1] == slidingWindowShortWay)
    short = isWindow and short
    set.short = short
  end
  return short
end

local function holdShortly(operation, set, name, terms, id)
  local short = shortRuleOf(set)
  local isReserve = operation == 'reserve'
  if not short or not isReserve and operation ~= 'settle' then return end
  local value = redis.pcall('GET', name)
  local base, bytes, units, firstEnd, lastEnd = value or '', '', 0, 9007199254740991, 0
  if value then
    -- An error is a table.
    if type(value) ~= 'string' then return end
    local length = #value
    if length % 8 == 2 and length >= 50 then
      local before, form
      units, firstEnd, lastEnd, before, form = unpackBytes('<dddBB', value, length - 25)
      local count = (length - 26 - before) / 24
      -- Each comparison is false for NaN.
      local areBounds = units >= 1 and units < 2 ^ 53 and firstEnd > nowMs and lastEnd >= firstEnd and lastEnd < 2 ^ 53
      if form ~= 1 or count < 1 or count % 1 ~= 0 or not areBounds or units % 1 + lastEnd % 1 ~= 0 then return end
      base, bytes = sub(value, 1, before), sub(value, before + 1, length - 26)
    end
  end
  local way, limit, windowMs = short[1], short[2], short[3]
  local amount = terms[1]
  -- `lastsMs` is the time until the key may expire. Without it, the key keeps its expiry.
  local answer, lastsMs
  if isReserve then
    if terms[2] < 0 or #bytes >= terms[5] * 24 then return end
    local sum = units + amount
    local used, endsAt, _, loadedEnd, waitMs = way(nowMs, base ~= '' and base, sum, limit, windowMs, short[4], short[5], short[6])
    if not used or waitMs then return end
    -- The end before is 0 if the state has ended.
    if loadedEnd == 0 then base = '' end
    local rest = terms.rest
    if not rest then
      local expiresAt = nowMs + terms[3]
      rest = { held = terms[4] == 1 and amount or -amount, expiresAt = expiresAt, tails = {} }
      rest.lastEnd = terms[4] == 1 and expiresAt + 2 * windowMs or expiresAt
      rest.text = string.format(',%d,%d,1', amount, nowMs)
      terms.rest = rest
    end
    lastEnd = max(lastEnd, rest.lastEnd)
    -- The bytes after the id are the same for all keys without holds whose states have the same length.
    local tail = units == 0 and rest.tails[#base]
    if not tail then
      tail = packBytes('<dddddBB', rest.held, rest.expiresAt, sum, min(firstEnd, rest.expiresAt), lastEnd, #base, 1)
      if units == 0 then rest.tails[#base] = tail end
    end
    value = base .. bytes .. packBytes('<d', id) .. tail
    lastsMs = (loadedEnd == 0 and lastEnd or max(loadedEnd + windowMs, lastEnd)) - nowMs
    answer = string.format('%d,0,%d', used, endsAt - nowMs) .. rest.text
  else
    local at = string.find(bytes, packBytes('<d', id), 1, true)
    if not at or at % 24 ~= 1 then return end
    local held = unpackBytes('<d', bytes, at + 8)
    if held < 0 then held = -held end
    if amount < 0 then amount = held end
    if amount == 0 or not (held >= 1 and held <= units) or held % 1 ~= 0 then return end
    local used, endsAt, spent, loadedEnd, waitMs = way(nowMs, base ~= '' and base, amount, limit, windowMs, short[4], short[5], short[6])
    if not used or waitMs then return end
    answer = '1'
    if #bytes > 24 then
      local rest = sub(bytes, 1, at - 1) .. sub(bytes, at + 24)
      value = spent .. rest .. packBytes('<dddBB', units - held, firstEnd, lastEnd, #spent, 1)
      if endsAt ~= loadedEnd then lastsMs = max(endsAt + windowMs, lastEnd) - nowMs end
    else
      value = spent
      -- The expiry covers the hold that has ended. It is kept if it is only a little late.
      if lastEnd < endsAt or lastEnd > endsAt + 600000 then lastsMs = endsAt - nowMs end
    end
  end
  local reply
  if lastsMs then
    reply = redis.pcall('SET', name, value, 'PX', string.format('%d', lastsMs + graceMs))
  else
    reply = redis.pcall('SET', name, value, 'KEEPTTL')
  end
  return not reply.err and answer or nil
end
