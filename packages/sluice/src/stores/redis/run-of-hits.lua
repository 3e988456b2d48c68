-- Decides a run of hits on the same rules, and returns their answers joined by commas. In a small program this block is the end of
-- the program, in the general program it is the body of a function. It reads these locals:
-- - list, listAt, ruleCount, rules, way, a to f, isShort: as in rules-of-run.lua.
-- - first, count: the index before the first name, and the number of hits.
-- - cost: the cost of every charge. If it is nil, `costs` has the cost of each charge of every hit; or, after the parameters of the
--   rules, the cost of each charge of each hit.
-- - areSameOrApart: true if two hits have the same names or none in common.
-- - set, longWay: what the long way has made so far.
-- - names, nowMs, graceMs: as in command.lua.
--
-- The short way of a rule takes the time, the stored value, the cost and the parameters. It returns the units used, the end of the
-- state, the new value, true if the key keeps its expiry, the time up to which the key must last, and the wait if the hit is denied.
-- If the key keeps its expiry, the new value is as long as the stored one. For a hit that is not frequent the short way returns nil.
-- A hit that one of its rules leaves, that one of several rules denies, or that Redis refuses is done by the long way. Nothing is
-- written before that. If Redis refuses to write the state of a later rule, the hit has counted partly, and its error says so.
--
-- A key expires a second after the time up to which it must last. One hit in 16 looks if the expiry is lost. SETRANGE keeps an expiry,
-- and takes two thirds of the time of SET.
--
-- The values of up to 256 names are read at once if two hits have the same names or none in common. A hit whose first name has occurred
-- before reads its values again. Values that are missing are read again, too: MGET does not say if a key has another type. If the names
-- may be of several slots, each value is read by itself.

local try, format = redis.pcall, string.format
local answers = count > 1 and {}
local costAt, costStep = 0, 0
if costs == list then costAt, costStep = after, ruleCount end
-- The values of the names between two indexes, and the first names of the hits that used them.
local loaded, loadedAt, loadedTo, seen = nil, first, first
local mostLoaded = 256 - 256 % ruleCount
if not areSameOrApart or not isShort or count == 1 or base > 0 or mostLoaded == 0 then loadedTo = math.huge end
-- For several rules: the new value of each, if its key keeps its expiry, and up to when it must last; and the figures of an allowed hit,
-- with their format.
local changes, figures, form
if rules then
  changes, figures = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0, 0, 0 }
  form = '%d,0,%d' .. string.rep(',%d,0,%d', ruleCount - 1)
end
for i = 1, count do
  local answer
  local looksForExpiry = (nowMs + i) % 16 == 0
  if isShort then
    if first >= loadedTo then
      loadedAt, loadedTo = first, math.min(first + mostLoaded, first + (count - i + 1) * ruleCount)
      loaded, seen = try('MGET', unpack(names, first + 1, loadedTo)), {}
      if loaded.err then loaded, loadedTo = nil, math.huge end
    end
    local name = names[first + 1]
    local at = loaded and not seen[name] and first - loadedAt
    if loaded then seen[name] = true end
    if rules then
      local isAllowed, areKept = true, not looksForExpiry
      for j = 1, ruleCount do
        local rule = rules[j]
        local stored = at and loaded[at + j] or try('GET', names[first + j])
        local used, endsAt, value, isKept, lastsTo, waitMs =
          rule[1](nowMs, stored, cost or costs[costAt + j] + 0, rule[2], rule[3], rule[4], rule[5], rule[6], rule[7])
        if not used or waitMs then
          isAllowed = false
          break
        end
        if not isKept then areKept = false end
        local k = 3 * j
        changes[k - 2], changes[k - 1], changes[k] = value, isKept, lastsTo
        figures[2 * j - 1], figures[2 * j] = used, endsAt - nowMs
      end
      if isAllowed then
        answer = format(form, unpack(figures))
        for j = 1, ruleCount do
          local k = 3 * j
          local value, refusal = changes[k - 2], nil
          name = names[first + j]
          if areKept then
            local reply = try('SETRANGE', name, '0', value)
            if reply ~= #value then refusal = reply.err end
          else
            if not changes[k - 1] or looksForExpiry and try('PTTL', name) == -1 then
              refusal = try('SET', name, value, 'PX', format('%d', changes[k] - nowMs + graceMs)).err
            else
              local reply = try('SETRANGE', name, '0', value)
              if reply ~= #value then refusal = reply.err end
            end
          end
          if refusal then
            answer = j > 1 and cjson.encode('PARTLY ' .. refusal .. ' (' .. name .. ')') or nil
            break
          end
        end
      end
    else
      local stored = at and loaded[at + 1] or try('GET', name)
      local used, endsAt, value, isKept, lastsTo, waitMs = way(nowMs, stored, cost or costs[costAt + 1] + 0, a, b, c, d, e, f)
      if used then
        local restMs = endsAt - nowMs
        answer = waitMs and format('%d,%d,%d', used, waitMs, restMs) or format('%d,0,%d', used, restMs)
        if not isKept or looksForExpiry and try('PTTL', name) == -1 then
          if try('SET', name, value, 'PX', format('%d', lastsTo - nowMs + graceMs)).err then answer = nil end
        elseif value ~= stored and try('SETRANGE', name, '0', value) ~= #value then
          answer = nil
        end
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
