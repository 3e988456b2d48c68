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

  -- For most hits there are: on this rule alone, within a live window, and with room. → what does such a hit to a key in one
  -- go and answers used, expiresAt; to any other it does nothing and answers nothing.
  function fixedWindow.shortWay(rule, nowMs, cost)
    if rule.elastic then return nil end
    local call, pack, unpack = redis.call, struct.pack, struct.unpack
    local mostUsed = rule.limit - cost
    local latestEnd = nowMs + rule.windowMs
    return function(key)
      local value = call('GET', key)
      if not value or #value ~= 16 then return end
      local expiresAt, used = unpack('<dd', value)
      if nowMs >= expiresAt or expiresAt > latestEnd or used > mostUsed then return end
      used = used + cost
      call('SET', key, pack('<dd', expiresAt, used), 'KEEPTTL')
      return used, expiresAt
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

  function fixedWindow.refund(rule, cells, nowMs, cost)
    cells[USED] = math.max(0, cells[USED] - cost)
  end

  return fixedWindow
end
