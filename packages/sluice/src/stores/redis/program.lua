-- Decides a list of calls, each over one or several charges, in one atomic step on Redis' own clock.
-- KEYS: for each call, in order, one key a charge, in a cluster all of one hash slot; after them, if `nth` is set, the name of the
-- note of which commands of this sender have been executed.
-- ARGV[1]: JSON of { sets, runs, now?, nth?, sentAs? }: sets as lists of rules, a rule as its algorithm and parameters; runs of
-- calls that are alike as operation, set, amount and how many, one after another; nth counts the commands of a sender, and sentAs
-- is the nth under which the same calls were sent before. The amount is a number for all charges, or a list: the amount of each,
-- and for a refund then perhaps the end of each state.
-- Answers JSON of a list of whole numbers, of each call in order; −1 stands for Infinity. A call that failed, before it wrote
-- anything, answers what went wrong instead. One text, because some clients take longer to read a list than Redis to make it.

local KEYS = KEYS
local call = redis.call
local request = cjson.decode(ARGV[1])

-- Some clients send a command again whose answer was lost with the connection. Noted are the newest of a sender's commands
-- that was executed and, a bit each, which of the 31 before it were, as commands may overtake one another; older ones count as executed.
local NOTED = 31
local NOTED_MS = 600000

local function noteOnce(key, nth, sentAs)
  local newest, executed = 0, 0
  local note = redis.pcall('GET', key)
  if type(note) == 'string' and #note == 12 then newest, executed = struct.unpack('<di4', note) end
  -- Whatever else stands there is no note, and is replaced by one.
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

-- How long a key outlives what it means: little; under a clock of the caller's own, which Redis' expiry knows nothing of, an hour.
local graceMs = request.now and 3600000 or 1000

local nowMs = request.now
if not nowMs then
  -- Read once: TIME moves on while a script runs.
  local time = call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The whole program runs with every command and pays for what it makes, so most of it is made when a call needs it: the hits
-- that most commands hold have a short way, which does all there is to do or nothing.
local step, keyOfLast
local function longWay(operation, setIndex, amount, firstKey)
  if not step then step, keyOfLast = defineCalls(request.sets, nowMs, graceMs) end
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
