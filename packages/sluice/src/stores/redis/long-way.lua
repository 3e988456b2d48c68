-- The long way of a call, for every call that the short way leaves. Returns the figures of the call; if it failed, its error message as JSON.
return function(operation, set, first, amount)
  set.rules = set.rules or makeRules(set)
  local ok, answer = pcall(calls[operation], set.rules, first, amount)
  if ok then return answer end
  local text = type(answer) == 'table' and answer.err or tostring(answer)
  if isPartly then text, isPartly = 'PARTLY ' .. text, false end
  return cjson.encode(text .. ' (' .. (lastKey or names[first + 1]) .. ')')
end
