-- The locals of a run of hits in a small program, which decides hits that all have the same rules.
-- ARGV after the header: the cost of every charge, or '' if costs differ; the number of rules; the algorithm and the parameters of
-- each rule; if costs differ, the cost of each charge. Then the names, if they are not in KEYS.
-- Returns the figures of all hits, joined by commas; −1 means Infinity. A hit that failed, before it wrote anything, has its error
-- message as JSON instead. The reply is one text, because some clients read a list more slowly than Redis makes it.

local cost, costs = ARGV[at + 1], ARGV
if cost ~= '' then cost = cost + 0 else cost = nil end
local list, listAt = ARGV, at + 1
local ruleCount = ARGV[at + 2] + 0
local first, count = base, nameCount / ruleCount
local set, longWay
