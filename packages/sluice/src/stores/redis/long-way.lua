-- The long way of a call, for every call that the short way leaves. Returns the figures of the call; if it failed, its error message as JSON.

local function decide(operation, rules, first, amount, id)
  local haveHolds = operation ~= 'reset' and loadAll(rules, first)
  local isHeld = haveHolds or not calls[operation]
  return (isHeld and heldCalls or calls)[operation](rules, first, amount, id)
end

return function(operation, set, first, amount, id)
  set.rules = set.rules or makeRules(set)
  local ok, answer = pcall(decide, operation, set.rules, first, amount, id)
  if ok then return answer end
  local text = type(answer) == 'table' and answer.err or tostring(answer)
  if isPartly then text, isPartly = 'PARTLY ' .. text, false end
  return cjson.encode(text .. ' (' .. (lastKey or names[first + 1]) .. ')')
end
