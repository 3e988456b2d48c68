-- Translation of meter.ts. Cells: expiresAt, debt, pace, drainPerTick. In the stored value the last two are one number, packed
-- as in rate.ts, except if the rule is wide.

-- Each hit moves the end of a meter, so an expiry that is exact would be set with each hit. It is set to the next multiple of a step
-- after the end instead, and kept until the end passes that. The step is 512 ms, or an eighth to a quarter of the time that the debt takes
-- to drain.
-- Invariant: a key whose rate is marked does not expire before `meterLastsTo` and the grace. Earlier versions set an exact expiry and
-- write no mark. They read a marked rate: its length is one bit more than necessary. A rate without a spare bit has no mark.

local function markOf(rate)
  local bits = rate % 64
  local packed = (rate - bits) / 64
  local drain = packed % 2 ^ bits
  local marked = 2 * (packed - drain) + drain
  return marked < 2 ^ 47 and marked * 64 + bits + 1
end

-- Returns the time up to which a key must last, and the step. Without frexp, which later versions of Lua lack, the step is never longer.
local function meterLastsTo(expiresAt, drainMs)
  local stepMs, frexp = 512, math.frexp
  if drainMs >= 4096 and frexp then
    local _, exponent = frexp(drainMs)
    stepMs = 2 ^ (exponent - 3)
  end
  return expiresAt + stepMs - expiresAt % stepMs, stepMs
end

-- The rate of the last hit, and its mark.
local lastRate, mark

-- Narrow meters only: the rate of a wide one is 0.
local function meterShortWay(nowMs, value, cost, limit, unitsPerToken, drainPerTick, tickMs, mostUsed, rate)
  if rate == 0 or cost > limit then return end
  if rate ~= lastRate then lastRate, mark = rate, markOf(rate) end
  local ceil = math.ceil
  local debt, since, keptEnd, keptMs = 0, nowMs, 0, 0
  if value then
    if #value ~= 24 then return end
    local expiresAt, written, writtenRate = unpackBytes('<ddd', value)
    -- Each comparison is false for NaN.
    local isOwn = (writtenRate == mark or writtenRate == rate) and written > 0 and written <= mostUsed * unitsPerToken
    if not isOwn or written % 1 + expiresAt % 1 ~= 0 then return end
    local drainMs = ceil(written / drainPerTick) * tickMs
    local start = expiresAt - drainMs
    if start < 0 then return end
    if nowMs < expiresAt then
      local elapsed = nowMs - start
      if elapsed < 0 then return end
      local ticks = (elapsed - elapsed % tickMs) / tickMs
      debt = written - ticks * drainPerTick
      since = start + ticks * tickMs
      if writtenRate == mark then keptEnd, keptMs = expiresAt, drainMs end
    end
  end
  local waitMs
  local excess = debt + (cost - limit) * unitsPerToken
  if excess > 0 then
    waitMs = since + ceil(excess / drainPerTick) * tickMs - nowMs
  else
    debt = debt + cost * unitsPerToken
  end
  local drainMs = ceil(debt / drainPerTick) * tickMs
  local expiresAt = since + drainMs
  local lastsTo, stepMs = meterLastsTo(expiresAt, drainMs)
  -- The key keeps its expiry if the end before had the same step, and the same multiple after it.
  local isSameStep = keptMs > 0 and keptMs < 8 * stepMs and (keptMs >= 4 * stepMs or stepMs == 512)
  local isKept = isSameStep and keptEnd < lastsTo and keptEnd >= lastsTo - stepMs
  return ceil(debt / unitsPerToken), expiresAt, packBytes('<ddd', expiresAt, debt, mark or rate), isKept, lastsTo, waitMs
end

local function defineMeter()
  local meter = {}
  local EXPIRES_AT = 1
  local DEBT = 2
  local PACE = 3
  local DRAIN_PER_TICK = 4

  local LENGTH_BITS = 64

  -- Returns pace and drainPerTick of a packed rate.
  function meter.unpackRate(rule, rate)
    if rate == rule.mark or rate == rule.rate then return rule.pace, rule.drainPerTick end
    if not isWhole(rate) then refuseValue() end
    local bits = rate % LENGTH_BITS
    local packed = floorDiv(rate, LENGTH_BITS)
    return floorDiv(packed, 2 ^ bits), packed % 2 ^ bits + 1
  end

  function meter.make(rule, name)
    rule.isSmooth = name == 'meter' or name == 'wide-meter'
    rule.pace = rule.isSmooth and rule.unitsPerToken or rule.tickMs
    rule.width = rule.rate == 0 and 4 or 3
    rule.mark = rule.rate > 0 and markOf(rule.rate)
    rule.windowMs = meter.drainMs(rule, rule.limit)
  end

  -- Returns true if these cells can come from `owe`, at any pace.
  function meter.isSound(rule, cells)
    local debt = cells[DEBT]
    local pace = cells[PACE]
    local drainPerTick = cells[DRAIN_PER_TICK]
    if debt == 0 or pace == 0 or drainPerTick == 0 then return false end
    return cells[EXPIRES_AT] >= ceilDiv(debt, drainPerTick) * (rule.isSmooth and 1 or pace)
  end

  local function owe(rule, cells, since, debt)
    local owes = debt > 0
    cells[EXPIRES_AT] = owes and since + ceilDiv(debt, rule.drainPerTick) * rule.tickMs or 0
    cells[DEBT] = debt
    cells[PACE] = owes and rule.pace or 0
    cells[DRAIN_PER_TICK] = owes and rule.drainPerTick or 0
  end

  -- Returns the time that so many tokens take to drain.
  function meter.drainMs(rule, tokens)
    return ceilDiv(math.min(tokens, rule.mostUsed) * rule.unitsPerToken, rule.drainPerTick) * rule.tickMs
  end

  function meter.lastsTo(rule, cells)
    if not rule.mark then return cells[EXPIRES_AT] end
    return (meterLastsTo(cells[EXPIRES_AT], ceilDiv(cells[DEBT], rule.drainPerTick) * rule.tickMs))
  end

  local function sinceOf(rule, cells, nowMs)
    if rule.tickMs == 1 or cells[EXPIRES_AT] == 0 then return nowMs end
    return cells[EXPIRES_AT] - ceilDiv(cells[DEBT], rule.drainPerTick) * rule.tickMs
  end

  local function inOwnUnits(rule, owed, pace)
    if not rule.isSmooth then return math.min(owed, rule.mostUsed) end
    local tokens = floorDiv(owed, pace)
    local rest = owed - tokens * pace
    local most = rule.mostUsed * rule.unitsPerToken
    return math.min(tokens * rule.unitsPerToken + ceilMulDiv(rest, rule.unitsPerToken, pace), most)
  end

  function meter.settle(rule, cells, nowMs)
    local expiresAt = cells[EXPIRES_AT]
    if expiresAt == 0 then return end
    if nowMs >= expiresAt then return owe(rule, cells, nowMs, 0) end
    local pace = cells[PACE]
    local drainPerTick = cells[DRAIN_PER_TICK]
    local tickMs = rule.isSmooth and 1 or pace
    local debt = cells[DEBT]
    local since = expiresAt - ceilDiv(debt, drainPerTick) * tickMs
    local ticks = math.max(0, floorDiv(nowMs - since, tickMs))
    local owed = debt - ticks * drainPerTick
    local isOwn = pace == rule.pace and drainPerTick == rule.drainPerTick
    if isOwn then
      owe(rule, cells, math.min(since + ticks * tickMs, nowMs), owed)
    else
      owe(rule, cells, nowMs, inOwnUnits(rule, owed, pace))
    end
  end

  function meter.waitMs(rule, cells, nowMs, cost)
    if cost > rule.limit then return INFINITY end
    local excess = cells[DEBT] - (rule.limit - cost) * rule.unitsPerToken
    if excess <= 0 then return 0 end
    return sinceOf(rule, cells, nowMs) + ceilDiv(excess, rule.drainPerTick) * rule.tickMs - nowMs
  end

  function meter.spend(rule, cells, nowMs, cost)
    local debt = cells[DEBT] + cost * rule.unitsPerToken
    owe(rule, cells, sinceOf(rule, cells, nowMs), math.min(debt, rule.mostUsed * rule.unitsPerToken))
  end

  function meter.used(rule, cells)
    return ceilDiv(cells[DEBT], rule.unitsPerToken)
  end

  function meter.put(rule, cells, nowMs, used)
    owe(rule, cells, nowMs, used * rule.unitsPerToken)
  end

  local function leastDebt(rule, endsAt, nowMs)
    local ticks = ceilDiv(endsAt - nowMs, rule.tickMs)
    return ticks > 0 and (ticks - 1) * rule.drainPerTick + 1 or 0
  end

  function meter.refund(rule, cells, nowMs, cost, endsAt)
    local debt = cells[DEBT]
    local back = math.min(cost * rule.unitsPerToken, debt)
    if endsAt and cells[EXPIRES_AT] > endsAt then back = math.min(back, leastDebt(rule, endsAt, nowMs)) end
    owe(rule, cells, sinceOf(rule, cells, nowMs), debt - back)
  end

  return meter
end
