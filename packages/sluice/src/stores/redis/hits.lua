-- The locals of a run of hits in a small program, which decides hits that all have the same rules.
-- ARGV after the header, for hits with a cost of 1 on one rule: the algorithm and the parameters of the rule. For others: '=' if two
-- hits have the same names or none in common, otherwise '*'; the cost of every charge, or '' if costs differ; the number of rules; the
-- algorithm and the parameters of each rule; if costs differ, the cost of each charge. Then the names, if they are not in KEYS.
-- Returns the figures of all hits, joined by commas; −1 means Infinity. A hit that failed, before it wrote anything, has its error
-- message as JSON instead. The reply is one text, because some clients read a list more slowly than Redis makes it.

local cost, costs = 1, ARGV
local list, listAt, ruleCount = ARGV, at - 1, 1
local kind = ARGV[at + 1]
local areSameOrApart = kind ~= '*'
if kind == '=' or kind == '*' then
  cost = ARGV[at + 2]
  if cost ~= '' then cost = cost + 0 else cost = nil end
  listAt = at + 2
  ruleCount = ARGV[at + 3] + 0
end
local first, count = base, nameCount / ruleCount
local set, longWay
