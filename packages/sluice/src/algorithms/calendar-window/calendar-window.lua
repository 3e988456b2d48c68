-- Translation of bounded-window.ts. Cells: expiresAt, used.

local function calendarWindowShortWay(nowMs, value, cost, limit, startOfLast, startOfThis, startOfNext, endOfNext)
  local startMs, endMs = startOfThis, startOfNext
  if nowMs < startOfThis then
    startMs, endMs = startOfLast, startOfThis
  elseif nowMs >= startOfNext then
    startMs, endMs = startOfNext, endOfNext
  end
  if nowMs < startMs or nowMs >= endMs then return end
  local expiresAt, used = 0, 0
  if value then
    if #value ~= 16 then return end
    expiresAt, used = unpackBytes('<dd', value)
    -- Each comparison is false for NaN.
    local areInRange = expiresAt >= 0 and expiresAt <= endMs and used >= 0 and used < 2 ^ 53
    if not areInRange or expiresAt % 1 + used % 1 ~= 0 then return end
  end
  if cost > limit then return end
  if nowMs < expiresAt then
    if used > limit - cost then return used, expiresAt, value, true, expiresAt, expiresAt - nowMs end
    used = used + cost
    return used, expiresAt, packBytes('<dd', expiresAt, used), true, expiresAt
  end
  return cost, endMs, packBytes('<dd', endMs, cost), false, endMs
end

local function defineCalendarWindow()
  local calendarWindow = {}
  local EXPIRES_AT = 1
  local USED = 2

  function calendarWindow.make(rule)
    rule.width = 2
    rule.windowMs = rule.startOfNext - rule.startOfThis
    rule.countsFrom = rule.startOfLast
  end

  local function windowAt(rule, nowMs)
    local startMs, endMs = rule.startOfThis, rule.startOfNext
    if nowMs < rule.startOfThis then
      startMs, endMs = rule.startOfLast, rule.startOfThis
    elseif nowMs >= rule.startOfNext then
      startMs, endMs = rule.startOfNext, rule.endOfNext
    end
    if nowMs >= startMs and nowMs < endMs then return startMs, endMs end
    error('sluice: the clocks of the process and of Redis are more than a window apart: nothing was counted; set the clocks right', 0)
  end

  function calendarWindow.settle(rule, cells, nowMs)
    local startMs, endMs = windowAt(rule, nowMs)
    local expiresAt = cells[EXPIRES_AT]
    if nowMs >= expiresAt then
      cells[EXPIRES_AT] = 0
      cells[USED] = 0
    elseif expiresAt > endMs then
      cells[EXPIRES_AT] = math.min(expiresAt, nowMs + endMs - startMs)
    end
  end

  function calendarWindow.waitMs(rule, cells, nowMs, cost)
    if cost > rule.limit then return INFINITY end
    if cells[USED] <= rule.limit - cost then return 0 end
    return cells[EXPIRES_AT] - nowMs
  end

  function calendarWindow.spend(rule, cells, nowMs, cost)
    if cells[EXPIRES_AT] == 0 then
      local _, endMs = windowAt(rule, nowMs)
      cells[EXPIRES_AT] = endMs
    end
    cells[USED] = math.min(cells[USED] + cost, MAX)
  end

  function calendarWindow.used(rule, cells)
    return cells[USED]
  end

  function calendarWindow.put(rule, cells, nowMs, used)
    if cells[EXPIRES_AT] == 0 then
      local _, endMs = windowAt(rule, nowMs)
      cells[EXPIRES_AT] = endMs
    end
    cells[USED] = used
  end

  function calendarWindow.refund(rule, cells, nowMs, cost, endsAt)
    if endsAt and cells[EXPIRES_AT] > endsAt then return end
    cells[USED] = math.max(0, cells[USED] - cost)
  end

  return calendarWindow
end
