-- Translation of sliding-window.ts. Cells: expiresAt, start, current, previous.

-- Hits on a key without a state, and hits that are allowed in the window in which the state was written.
local function slidingWindowShortWay(nowMs, value, cost, limit, windowMs, isOnClock, roundsDown, mostUsed)
  if not value then
    if cost > limit then return end
    local start = isOnClock and nowMs - nowMs % windowMs or nowMs
    local expiresAt = start + 2 * windowMs
    return cost, expiresAt, packBytes('<dddd', expiresAt, start, cost, 0), false, expiresAt
  end
  if #value ~= 32 then return end
  local expiresAt, start, current, previous = unpackBytes('<dddd', value)
  local viewMs = start + windowMs - nowMs
  -- Each comparison is false for NaN.
  local isOfWindow = viewMs > 0 and viewMs <= windowMs and start >= 0 and expiresAt == start + 2 * windowMs
  local areCounts = current >= 1 and current <= limit - cost and previous >= 0 and previous <= mostUsed
  if not (isOfWindow and areCounts) or start % 1 + current % 1 + previous % 1 ~= 0 then return end
  current = current + cost
  local used = current
  if previous > 0 then
    local inView = previous * viewMs / windowMs
    used = used + (roundsDown and math.floor(inView) or math.ceil(inView))
    if used > limit then return end
  end
  return used, expiresAt, packBytes('<dddd', expiresAt, start, current, previous), true, expiresAt
end

local function defineSlidingWindow()
  local slidingWindow = {}
  local EXPIRES_AT = 1
  local START = 2
  local CURRENT = 3
  local PREVIOUS = 4

  function slidingWindow.make(rule)
    rule.width = 4
  end

  -- Returns true if these cells can come from `touch`, with a window of any length.
  function slidingWindow.isSound(rule, cells)
    local length = cells[EXPIRES_AT] - cells[START]
    local current = cells[CURRENT]
    local windowMs = current > 0 and length / 2 or length
    return windowMs >= 1 and windowMs % 1 == 0 and current * windowMs <= MAX and cells[PREVIOUS] * windowMs <= MAX
  end

  local function startOfWindow(rule, nowMs)
    if rule.isOnClock then return nowMs - nowMs % rule.windowMs end
    return nowMs
  end

  local function longestView(rule, count, left)
    if count <= left then return rule.windowMs end
    if rule.roundsDown then return ceilDiv((left + 1) * rule.windowMs, count) - 1 end
    return floorDiv(left * rule.windowMs, count)
  end

  local function touch(rule, cells)
    if cells[CURRENT] > 0 then
      cells[EXPIRES_AT] = cells[START] + 2 * rule.windowMs
    elseif cells[PREVIOUS] > 0 then
      cells[EXPIRES_AT] = cells[START] + rule.windowMs
    else
      cells[EXPIRES_AT] = 0
      cells[START] = 0
    end
  end

  function slidingWindow.settle(rule, cells, nowMs)
    local expiresAt = cells[EXPIRES_AT]
    if expiresAt == 0 then return end
    local start = cells[START]
    local current = cells[CURRENT]
    local previous = cells[PREVIOUS]
    local writtenWindowMs = current > 0 and (expiresAt - start) / 2 or expiresAt - start
    if writtenWindowMs ~= rule.windowMs then
      local elapsed = math.max(0, nowMs - start)
      local used = 0
      if elapsed < writtenWindowMs then
        used = current + ceilDiv(previous * (writtenWindowMs - elapsed), writtenWindowMs)
      elseif nowMs < expiresAt then
        used = ceilDiv(current * (2 * writtenWindowMs - elapsed), writtenWindowMs)
      end
      return slidingWindow.put(rule, cells, nowMs, math.min(used, rule.mostUsed))
    end
    local passed = floorDiv(nowMs - start, rule.windowMs)
    if passed < 0 and rule.isOnClock then
      return slidingWindow.put(rule, cells, nowMs, math.min(current + previous, rule.mostUsed))
    end
    if passed < 0 then
      cells[START] = nowMs
    elseif passed == 1 then
      cells[START] = start + rule.windowMs
      cells[PREVIOUS] = current
      cells[CURRENT] = 0
    elseif passed > 1 then
      cells[PREVIOUS] = 0
      cells[CURRENT] = 0
    end
    touch(rule, cells)
  end

  function slidingWindow.waitMs(rule, cells, nowMs, cost)
    local limit = rule.limit
    local windowMs = rule.windowMs
    if cost > limit then return INFINITY end
    local current = cells[CURRENT]
    local previous = cells[PREVIOUS]
    local elapsed = cells[EXPIRES_AT] == 0 and 0 or nowMs - cells[START]
    local left = limit - cost - current
    if left >= 0 then return math.max(0, windowMs - longestView(rule, previous, left) - elapsed) end
    return windowMs - elapsed + windowMs - longestView(rule, current, limit - cost)
  end

  function slidingWindow.spend(rule, cells, nowMs, cost)
    if cells[EXPIRES_AT] == 0 then cells[START] = startOfWindow(rule, nowMs) end
    cells[CURRENT] = math.min(cells[CURRENT] + cost, rule.mostUsed)
    touch(rule, cells)
  end

  function slidingWindow.used(rule, cells, nowMs)
    local previous = cells[PREVIOUS]
    if previous == 0 then return cells[CURRENT] end
    local inView = previous * (rule.windowMs - (nowMs - cells[START]))
    if rule.roundsDown then return cells[CURRENT] + floorDiv(inView, rule.windowMs) end
    return cells[CURRENT] + ceilDiv(inView, rule.windowMs)
  end

  function slidingWindow.put(rule, cells, nowMs, used)
    cells[START] = startOfWindow(rule, nowMs)
    cells[CURRENT] = used
    cells[PREVIOUS] = 0
    touch(rule, cells)
  end

  function slidingWindow.refund(rule, cells, nowMs, cost, endsAt)
    local start = endsAt and endsAt - 2 * rule.windowMs
    local isCurrent = not start or cells[START] <= start
    local isPrevious = not start or (not isCurrent and cells[START] <= start + rule.windowMs)
    local fromCurrent = isCurrent and math.min(cost, cells[CURRENT]) or 0
    local fromPrevious = isPrevious and math.min(cost - fromCurrent, cells[PREVIOUS]) or 0
    cells[CURRENT] = cells[CURRENT] - fromCurrent
    cells[PREVIOUS] = cells[PREVIOUS] - fromPrevious
    touch(rule, cells)
  end

  return slidingWindow
end
