-- Decides a list of calls, each over one or several charges, in one atomic step on Redis' own clock.
-- KEYS: one key for each charge of each call, in order; in a cluster all in one hash slot. If `nth` is set, the last key is the
-- name of the note about this sender's executed commands.
-- ARGV[1]: JSON of { sets, runs, now?, nth?, sentAs? }.
-- - sets: lists of rules. A rule is its algorithm and its parameters.
-- - runs: a flat list of operation, set, amount and number of calls, for each run of calls that differ only in their keys.
-- - nth: number of this command of the sender.
-- - sentAs: the nth under which the same calls were sent before.
-- The amount is a number for all charges, or a list with the amount of each. For a refund, the ends of the states may follow.
-- Returns JSON of a list of whole numbers, for each call in order; −1 means Infinity. A call that failed, before it wrote
-- anything, has its error message instead. The reply is one text, because some clients read a list more slowly than Redis makes
-- it.

local KEYS = #KEYS > 0 and KEYS or { unpack(ARGV, 2) }
local call = redis.call
local request = cjson.decode(ARGV[1])

-- Some clients send a command again if its answer was lost with the connection. The note holds the number of the sender's newest
-- executed command, and one bit for each of the 31 commands before it, because commands may overtake each other. Older commands
-- count as executed.
local NOTED = 31
local NOTED_MS = 600000

local function noteOnce(key, nth, sentAs)
  local newest, executed = 0, 0
  local note = redis.pcall('GET', key)
  if type(note) == 'string' and #note == 12 then newest, executed = struct.unpack('<di4', note) end
  -- A value that is not a note is replaced by one.
  if not isWhole(newest) then newest, executed = 0, 0 end
  local function wasExecuted(older)
    local age = newest - older
    return age >= 0 and age <= NOTED and bit.band(executed, bit.lshift(1, age)) ~= 0
  end
  local age = newest - nth
  if age > NOTED or wasExecuted(nth) or (sentAs and wasExecuted(sentAs)) then return false end
  if age >= 0 then
    executed = bit.bor(executed, bit.lshift(1, age))
  else
    executed = bit.bor(age < -NOTED and 0 or bit.lshift(executed, -age), 1)
    newest = nth
  end
  call('SET', key, struct.pack('<di4', newest, executed), 'PX', NOTED_MS)
  return true
end

if request.nth and not noteOnce(KEYS[#KEYS], request.nth, request.sentAs) then
  return redis.error_reply('REPEATED this command was sent before, and its answer was lost')
end

-- Time for which a key outlives its state. It is long with a clock of the caller's own, which differs from the clock of expiries.
local graceMs = request.now and 3600000 or 1000

local nowMs = request.now
if not nowMs then
  -- TIME is read once, because it moves on while a script runs.
  local time = call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The whole program runs with every command, so most functions are made only when a call needs them. The most frequent hits have
-- a short way, which does a whole hit or nothing.
local step, keyOfLast
local function longWay(operation, setIndex, amount, firstKey)
  if not step then step, keyOfLast = defineCalls(KEYS, request.sets, nowMs, graceMs) end
  local ok, answer = pcall(step, operation, setIndex, amount, firstKey)
  if ok then return answer end
  local text = type(answer) == 'table' and answer.err or tostring(answer)
  return cjson.encode(text .. ' (' .. (keyOfLast() or KEYS[firstKey + 1]) .. ')')
end

local answers = {}
local at = 0
local runs = request.runs
local firstKey = 0
for i = 1, #runs, 4 do
  local operation, setIndex, amount, count = runs[i], runs[i + 1], runs[i + 2], runs[i + 3]
  local set = request.sets[setIndex]
  local shortWay
  if operation == 'hit' and #set == 1 then
    local rule, _, shortWayOf = translationOf(set[1])
    shortWay = shortWayOf and shortWayOf(rule, nowMs, amount)
  end
  for _ = 1, count do
    at = at + 1
    answers[at] = shortWay and shortWay(KEYS[firstKey + 1], at % 16 == 1) or longWay(operation, setIndex, amount, firstKey)
    firstKey = firstKey + #set
  end
end

return '[' .. table.concat(answers, ',') .. ']'
