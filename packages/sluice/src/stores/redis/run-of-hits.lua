-- Decides a run of hits on the same rules, and returns their answers joined by commas. In a small program this block is the end of
-- the program, in the general program it is the body of a function. It reads these locals:
-- - list, listAt, ruleCount, rules, way, a to f, isShort: as in rules-of-run.lua.
-- - first, count: the index before the first name, and the number of hits.
-- - cost: the cost of every charge. If it is nil, `costs` has the cost of each charge of every hit; or, after the parameters of the
--   rules, the cost of each charge of each hit.
-- - set, longWay: what the long way has made so far.
-- - names, nowMs, graceMs: as in command.lua.
--
-- The short way of a rule takes the time, the stored value, the cost and the parameters. It returns the units used, the end of the
-- state, the new value and the end before. If it denies the hit, it returns the stored value and the wait as well. For a hit that is
-- not frequent it returns nil. A hit that one of its rules leaves, that one of several rules denies, or that Redis refuses is done by
-- the long way. Nothing is written before that. If Redis refuses to write the state of a later rule, the hit has counted partly, and
-- its error says so.
--
-- The expiry of a key is set to a second after the end of its state. It is kept while the end stays between two multiples of 512 ms.
-- So a key outlives its state by 488 ms at least, also if an older version has set the expiry. One hit in 16 looks if the expiry is
-- lost.

local try, format = redis.pcall, string.format
-- For each of several rules: the new value, the end before, the new end.
local seen = rules and { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
local answers = count > 1 and {}
local costAt, costStep = 0, 0
if costs == list then costAt, costStep = after, ruleCount end
for i = 1, count do
  local answer, name, loaded, used, endsAt, value, loadedEnd, waitMs
  if isShort then
    for j = 1, ruleCount do
      if rules then
        local rule = rules[j]
        way, a, b, c, d, e, f = rule[1], rule[2], rule[3], rule[4], rule[5], rule[6], rule[7]
      end
      name = names[first + j]
      loaded = try('GET', name)
      used, endsAt, value, loadedEnd, waitMs = way(nowMs, loaded, cost or costs[costAt + j] + 0, a, b, c, d, e, f)
      if not used or waitMs and rules then
        answer = nil
        break
      end
      local figures = waitMs and format('%d,%d,%d', used, waitMs, endsAt - nowMs) or format('%d,0,%d', used, endsAt - nowMs)
      answer = answer and answer .. ',' .. figures or figures
      if rules then
        local k = 3 * j
        seen[k - 2], seen[k - 1], seen[k] = value, loadedEnd, endsAt
      end
    end
    for j = 1, answer and ruleCount or 0 do
      if rules then
        local k = 3 * j
        name, value, loadedEnd, endsAt = names[first + j], seen[k - 2], seen[k - 1], seen[k]
      end
      local refusal
      if endsAt - endsAt % 512 ~= loadedEnd - loadedEnd % 512 or (nowMs + i) % 16 == 0 and try('PTTL', name) == -1 then
        refusal = try('SET', name, value, 'PX', format('%d', endsAt - nowMs + graceMs)).err
      elseif not waitMs then
        refusal = try('SET', name, value, 'KEEPTTL').err
      end
      if refusal then
        answer = j > 1 and cjson.encode('PARTLY ' .. refusal .. ' (' .. name .. ')') or nil
        break
      end
    end
  end
  if not answer then
    --@longWay
    longWay = longWay or defineCalls(names, nowMs, graceMs)
    local amount = cost
    if not cost then
      amount = {}
      for j = 1, ruleCount do amount[j] = costs[costAt + j] + 0 end
    end
    set = set or { list = list, at = listAt, count = ruleCount }
    answer = longWay('hit', set, first, amount)
  end
  if not answers then return answer end
  answers[i] = answer
  first = first + ruleCount
  if not cost then costAt = costAt + costStep end
end
return table.concat(answers, ',')
