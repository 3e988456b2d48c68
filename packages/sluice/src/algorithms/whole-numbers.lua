-- Exact arithmetic, as core/whole-numbers.ts has it: whole numbers below 2^53, which Lua's doubles hold without loss.

local MAX = 9007199254740991
local INFINITY = math.huge

local function floorDiv(dividend, divisor)
  return math.floor(dividend / divisor)
end

local function ceilDiv(dividend, divisor)
  return math.ceil(dividend / divisor)
end

-- Fails the call that looked at a value which no definition has written.
local function refuseValue()
  error('sluice: this value is not a state of its rule: reset() removes it', 0)
end

-- False for what no definition writes: NaN, infinities, fractions, less than 0, more than 2^53 - 1.
local function isWhole(number)
  return number >= 0 and number <= MAX and number % 1 == 0
end
