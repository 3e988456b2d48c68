-- The short ways of the rules of a run. Reads `list`, `listAt` and `ruleCount`: the list has the algorithm and the parameters of each
-- rule, from the second place after this index on. Sets these locals:
-- - way, a to f: the short way of the last rule, and its parameters.
-- - rules: if there are several rules, a list of these for each rule.
-- - isShort: true if each rule has a short way.
-- - after: the index of the last parameter.

local after, isShort = listAt + 1, true
local way, a, b, c, d, e, f
-- Tables are made as large as four rules need, because a table that grows is slow.
local rules = ruleCount > 1 and { 0, 0, 0, 0 }
for i = 1, ruleCount do
  local name = list[after + 1]
  --@shortWays
  isShort = isShort and way
  if rules then rules[i] = { way, a, b, c, d, e, f } end
end
