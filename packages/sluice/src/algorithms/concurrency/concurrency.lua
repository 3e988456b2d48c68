-- Translation of concurrency.ts. Two cells, which stay 0.

local function defineConcurrency()
  local concurrency = {}

  function concurrency.make(rule)
    rule.width = 2
    rule.isHeld = true
  end

  function concurrency.settle() end

  function concurrency.waitMs(rule, cells, nowMs, cost)
    return cost > rule.limit and INFINITY or 0
  end

  function concurrency.spend() end

  function concurrency.used()
    return 0
  end

  function concurrency.put() end

  function concurrency.refund() end

  return concurrency
end
