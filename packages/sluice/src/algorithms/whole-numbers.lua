-- Exact arithmetic, as core/whole-numbers.ts has it: whole numbers below 2^53, which Lua's doubles hold without loss.

local MAX = 9007199254740991
local INFINITY = math.huge

local function floorDiv(dividend, divisor)
  return math.floor(dividend / divisor)
end

local function ceilDiv(dividend, divisor)
  return math.ceil(dividend / divisor)
end
