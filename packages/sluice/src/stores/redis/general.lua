-- The end of the general program: decides any calls, in their order.
-- ARGV after the header: JSON of { sets, runs, terms, ids }.
-- - sets: lists of rules. A list has the number of rules, and the algorithm and the parameters of each rule, as texts.
-- - runs: a flat list of operation, set, amount and number of calls, for each run of calls that differ only in their names. For calls
--   about holds, the index of their terms stands for the amount.
-- - terms: lists of the numbers of calls about holds, as held-operations.lua reads them.
-- - ids: the id of the hold of each call about one.
-- The amount is a number for all charges, or a list with the amount of each. For a refund, the ends of the states may follow.
-- Returns the answers as a small program does.

local request = cjson.decode(ARGV[at + 1])
local sets = {}
for i, list in ipairs(request.sets) do sets[i] = { list = list, at = 0 } end

local replies = {}
local runs, ids, idAt = request.runs, request.ids, 0
local first = base
for i = 1, #runs, 4 do
  local operation, set, amount, count = runs[i], sets[runs[i + 1]], runs[i + 2], runs[i + 3]
  local ruleCount = set.count
  if not ruleCount then
    ruleCount = set.list[1] + 0
    set.count = ruleCount
  end
  if operation == 'hit' then
    replies[#replies + 1] = runOfHits(set, ruleCount, first, count, amount)
  elseif aboutHolds[operation] then
    replies[#replies + 1] = runOfHolds(operation, set, first, request.terms[amount], count, ids, idAt)
    idAt = idAt + count
  else
    longWay = longWay or defineCalls(names, nowMs, graceMs)
    for j = 0, count - 1 do replies[#replies + 1] = longWay(operation, set, first + j * ruleCount, amount) end
  end
  first = first + count * ruleCount
end
return table.concat(replies, ',')
