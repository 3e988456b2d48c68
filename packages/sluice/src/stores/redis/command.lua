-- The beginning of every program: reads the header of a command, notes that the command was executed, and reads the clock.
-- Header: there is none if the names are in KEYS, the time is Redis' own and there is no note. The body never begins with a word that
-- a header begins with. If ARGV[1] is '0' or '1', there is a note: a bit of it, ARGV[2], gets this value. If it is 'n', the names are
-- in ARGV, and ARGV[2] is the index before the first one. If it is 'x', ARGV[2] is this index, or 0 if the names are in KEYS, ARGV[3]
-- is the time in ms, and ARGV[4] is the value of the note's bit, with the bit in ARGV[5], or ''. The note is the last of KEYS. `at` is
-- the index of the last field.
-- Names: one for each charge of each call, in order. `names[base + 1]` is the first.

local KEYS, ARGV = KEYS, ARGV
local call = redis.call
local names, base, nameCount = KEYS, 0, #KEYS
local at = 0
-- A key outlives its state by this time. With a clock of the caller's own it is long, because that clock is not the one of expiries.
local nowMs, graceMs = '', 1000

local head = ARGV[1]
if head == 'n' then
  at = 2
  base = ARGV[2] + 0
elseif head == '0' or head == '1' or head == 'x' then
  at = 1
  if head == 'x' then
    at = 4
    base = ARGV[2] + 0
    nowMs = ARGV[3]
  end
  -- Some clients send a command again if its answer was lost with the connection. In even cycles of the note a command sets its
  -- bit to 1, in odd cycles to 0. A bit that has this value already says that the command was executed.
  if ARGV[at] ~= '' then
    local note, value, bit = KEYS[#KEYS], ARGV[at], ARGV[at + 1]
    at = at + 1
    nameCount = nameCount - 1
    local before = redis.pcall('SETBIT', note, bit, value)
    if type(before) == 'table' then
      if not string.find(before.err, 'WRONGTYPE', 1, true) then return before end
      -- A value that is not a note is replaced by one.
      call('DEL', note)
      before = call('SETBIT', note, bit, value)
    end
    local isExecuted = before == value + 0
    local char, rep = string.char, string.rep
    -- Every command looks at the note's expiry. A client may send a command again to a server that has lost the note, as after a
    -- failover, and no other command of this note may follow.
    local restMs = call('PTTL', note)
    if restMs < 0 then
      -- The note is new, or Redis has lost it. All of its bits are 0, as if the commands of an odd cycle had been executed. In an odd
      -- cycle the bits after this one get the value of the cycle before. In an even cycle the bits of commands that are 1024 behind
      -- or more get their value.
      local bytes = math.floor(bit / 8)
      if value == '0' then
        call('SET', note, rep(char(0), bytes) .. char(2 ^ (7 - bit % 8) - 1) .. rep(char(255), 511 - bytes))
        isExecuted = false
      elseif bytes > 128 then
        call('SETRANGE', note, 0, rep(char(255), bytes - 128))
      end
    end
    if isExecuted then return redis.error_reply('REPEATED this command was sent before, and its answer was lost') end
    if restMs < 300000 then call('PEXPIRE', note, 600000) end
    -- Bits that a lost note lacks still would be in the way of the next cycle. So now and then the bits of commands that are 1024 to
    -- 3071 behind get their value: bits before this one, or else the last bits of the cycle before. No bits are written that others
    -- use which have overtaken this command by less than 1024.
    if bit % 512 == 511 then
      local executed, executedBefore, bytes = char(255 * value), char(255 - 255 * value), (bit - 1023) / 8
      if bytes > 0 then
        local from = math.max(0, bytes - 256)
        call('SETRANGE', note, from, rep(executed, bytes - from))
      else
        call('SETRANGE', note, 384, rep(executedBefore, bytes + 128))
      end
    end
  end
end
if base > 0 then names, nameCount = ARGV, #ARGV - base end

if nowMs ~= '' then
  nowMs, graceMs = nowMs + 0, 3600000
else
  -- TIME is read once, because it moves on while a script runs.
  local time = call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

local packBytes, unpackBytes = struct.pack, struct.unpack
