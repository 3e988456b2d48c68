-- The sums of fixed-window.ts, done beside the data. Cells: expiresAt, used.

local function defineFixedWindow()
  local fixedWindow = {}
  local EXPIRES_AT = 1
  local USED = 2

  function fixedWindow.make(numbers)
    return {
      width = 2,
      limit = numbers[1],
      windowMs = numbers[2],
      isOnClock = numbers[3] == 1,
      elastic = numbers[4] == 1,
      countsDenied = numbers[5] == 1,
    }
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

  -- Most hits there are: on this rule alone, within a live window, and with room. Done in one go; → used, expiresAt.
  -- → nothing for any other hit, and nothing was done.
  function fixedWindow.hitLive(rule, key, nowMs, cost)
    local value = redis.call('GET', key)
    if not value or #value ~= 16 then return end
    local expiresAt, used = struct.unpack('<dd', value)
    local isLive = nowMs < expiresAt and expiresAt <= nowMs + rule.windowMs
    if not isLive or used > rule.limit - cost or rule.elastic then return end
    redis.call('SET', key, struct.pack('<dd', expiresAt, used + cost), 'KEEPTTL')
    return used + cost, expiresAt
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

  function fixedWindow.refund(rule, cells, nowMs, cost)
    cells[USED] = math.max(0, cells[USED] - cost)
  end

  return fixedWindow
end
