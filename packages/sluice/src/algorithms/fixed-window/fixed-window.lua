-- Translation of fixed-window.ts. Cells: expiresAt, used.

local function fixedWindowShortWay(nowMs, value, cost, limit, windowMs, isOnClock, elastic, countsDenied)
  if elastic then return end
  local expiresAt
  if value then
    if #value ~= 16 then return end
    local used
    expiresAt, used = unpackBytes('<dd', value)
    -- Each comparison is false for NaN.
    local isOfWindow = expiresAt >= 0 and expiresAt <= nowMs + windowMs and used >= 0
    if not isOfWindow or expiresAt % 1 + used % 1 ~= 0 then return end
    if nowMs < expiresAt then
      if used <= limit - cost then
        used = used + cost
        return used, expiresAt, packBytes('<dd', expiresAt, used), true, expiresAt
      end
      if countsDenied or cost > limit or used >= 2 ^ 53 then return end
      return used, expiresAt, value, true, expiresAt, expiresAt - nowMs
    end
    if used >= 2 ^ 53 then return end
  end
  if cost > limit then return end
  expiresAt = nowMs + windowMs
  if isOnClock then expiresAt = expiresAt - nowMs % windowMs end
  return cost, expiresAt, packBytes('<dd', expiresAt, cost), false, expiresAt
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
