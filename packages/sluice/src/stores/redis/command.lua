-- The beginning of every program: reads the header of a command, notes that the command was executed, and reads the clock.
-- Header: ARGV[1] is '' if the names are in KEYS, the time is Redis' own and there is no note. The header has no other field then.
-- Otherwise ARGV[1] is the index in ARGV before the first name, or 0 if the names are in KEYS. ARGV[2] is the time in ms, or ''.
-- ARGV[3] is '' if there is no note. Otherwise a bit of the note, the value that it gets, the note's life in ms, and 'begin' or
-- 'again' if its life starts now. The note is the last of KEYS. `at` is the index of the last field.
-- Names: one for each charge of each call, in order. `names[base + 1]` is the first.

local KEYS, ARGV = KEYS, ARGV
local call = redis.call
local names, base, nameCount = KEYS, 0, #KEYS
local at = 1
-- A key outlives its state by this time. With a clock of the caller's own it is long, because that clock is not the one of expiries.
local nowMs, graceMs = '', 1000

if ARGV[1] ~= '' then
  at = 3
  base = ARGV[1] + 0
  nowMs = ARGV[2]
  -- Some clients send a command again if its answer was lost with the connection. In even cycles of the note a command sets its
  -- bit to 1, in odd cycles to 0. A bit that has this value already says that the command was executed.
  if ARGV[3] ~= '' then
    at = 6
    nameCount = nameCount - 1
    local note, bit, value, renewal = KEYS[#KEYS], ARGV[3], ARGV[4], ARGV[6]
    local before = redis.pcall('SETBIT', note, bit, value)
    if type(before) == 'table' then
      if not string.find(before.err, 'WRONGTYPE', 1, true) then return before end
      -- A value that is not a note is replaced by one.
      call('DEL', note)
      before, renewal = 1 - value, 'again'
    end
    local isRepeated = before == value + 0
    if isRepeated and value == '1' then renewal = '' end
    if isRepeated and value == '0' or renewal == 'again' then
      -- A note without an expiry was lost since. Its bits are 0, as if commands of odd cycles had been executed. All bits are set as if
      -- all commands before this one had been executed.
      if call('PTTL', note) < 0 then
        local char, rep, bytes, rest = string.char, string.rep, math.floor(bit / 8), 2 ^ (7 - bit % 8)
        if value == '1' then
          call('SET', note, rep(char(255), bytes) .. char(256 - rest))
        else
          call('SET', note, rep(char(0), bytes) .. char(rest - 1) .. rep(char(255), 511 - bytes))
        end
        isRepeated, renewal = false, 'again'
      end
    end
    if isRepeated then return redis.error_reply('REPEATED this command was sent before, and its answer was lost') end
    if renewal ~= '' then call('PEXPIRE', note, ARGV[5]) end
  end
  if base > 0 then names, nameCount = ARGV, #ARGV - base end
end

if nowMs ~= '' then
  nowMs, graceMs = nowMs + 0, 3600000
else
  -- TIME is read once, because it moves on while a script runs.
  local time = call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

local packBytes, unpackBytes = struct.pack, struct.unpack
