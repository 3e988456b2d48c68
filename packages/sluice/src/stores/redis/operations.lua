-- The operations of core/step.ts that only the general program has.

function calls.timedHit(rules, first, amount)
  return calls.hit(rules, first, amount) .. ',' .. format('%d', nowMs)
end

function calls.peek(rules, first, amount)
  local amounts = amountsOf(rules, amount)
  local figures
  for i = 1, #rules do
    local rule, state = rules[i], states[i]
    local ofCharge = figuresOf(rule, state, rule.algorithm.waitMs(rule, state, nowMs, amounts[i]))
    figures = figures and figures .. ',' .. ofCharge or ofCharge
  end
  return figures
end

local function put(rules, first, amount, change)
  local rule, state = rules[1], states[1]
  rule.algorithm[change](rule, state, nowMs, amount)
  local used = rule.algorithm.used(rule, state, nowMs)
  saveAll(rules, first)
  return format('%d', used)
end

function calls.inc(rules, first, amount)
  return put(rules, first, amount, 'spend')
end

function calls.set(rules, first, amount)
  return put(rules, first, amount, 'put')
end

-- A list of amounts may be followed by the end of each state.
function calls.refund(rules, first, amount)
  local amounts = amountsOf(rules, amount)
  local ends = type(amount) == 'table' and amount
  local usedOnFirst
  for i = 1, #rules do
    local rule = rules[i]
    rule.algorithm.refund(rule, states[i], nowMs, amounts[i], ends and ends[#rules + i])
    usedOnFirst = usedOnFirst or rule.algorithm.used(rule, states[i], nowMs)
  end
  saveAll(rules, first)
  return format('%d', usedOnFirst)
end

-- The states were not loaded, because one of them may be damaged.
function calls.reset(rules, first)
  for i = 1, #rules do call('DEL', names[first + i]) end
  return '0'
end

function calls.get(rules)
  return format('%d', rules[1].algorithm.used(rules[1], states[1], nowMs))
end

function calls.expiresAt()
  return format('%d', states[1][1])
end
