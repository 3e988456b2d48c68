-- The locals of a run of hits in the general program.

local list, listAt = set.list, set.at
local cost, costs = amount, amount
if type(amount) == 'table' then cost = nil end
local areSameOrApart = false
