-- The sums of quiet-period.ts, done beside the data. Cells: expiresAt, used.

local function defineQuietPeriod()
  local quietPeriod = {}
  local EXPIRES_AT = 1
  local USED = 2

  function quietPeriod.make(rule)
    rule.width = 2
  end

  function quietPeriod.settle(rule, cells, nowMs)
    if nowMs >= cells[EXPIRES_AT] then
      cells[EXPIRES_AT] = 0
      cells[USED] = 0
    elseif cells[EXPIRES_AT] > nowMs + rule.windowMs then
      cells[EXPIRES_AT] = nowMs + rule.windowMs
    end
  end

  function quietPeriod.waitMs(rule, cells, nowMs, cost)
    if cost > rule.limit then return INFINITY end
    if cells[USED] <= rule.limit - cost then return 0 end
    return cells[EXPIRES_AT] - nowMs
  end

  function quietPeriod.spend(rule, cells, nowMs, cost)
    if rule.restarts or cells[EXPIRES_AT] == 0 then cells[EXPIRES_AT] = nowMs + rule.windowMs end
    cells[USED] = math.min(cells[USED] + cost, MAX)
  end

  function quietPeriod.used(rule, cells)
    return cells[USED]
  end

  function quietPeriod.put(rule, cells, nowMs, used)
    cells[EXPIRES_AT] = nowMs + rule.windowMs
    cells[USED] = used
  end

  function quietPeriod.refund(rule, cells, nowMs, cost)
    cells[USED] = math.max(0, cells[USED] - cost)
  end

  return quietPeriod
end
