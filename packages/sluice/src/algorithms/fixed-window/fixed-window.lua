-- Translation of fixed-window.ts. Cells: expiresAt, used.

-- The short way, for the most frequent hit: on this rule alone, within a live window, with units left. Returns a function that
-- makes such a hit on a key and returns its figures. For any other hit, the function does nothing and returns nil. It also does
-- so if Redis refuses a command, or if the key has lost its expiry.
local function fixedWindowShortWay(rule, nowMs, cost)
  if rule.elastic then return nil end
  local try, format, pack, unpack = redis.pcall, string.format, struct.pack, struct.unpack
  local mostUsed = rule.limit - cost
  local latestEnd = nowMs + rule.windowMs
  return function(key, looksForExpiry)
    local value = try('GET', key)
    if not value or #value ~= 16 then return end
    local expiresAt, used = unpack('<dd', value)
    -- Each comparison is false for NaN. The long way refuses such values.
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
