-- Exact arithmetic with whole numbers below 2^53, as in core/whole-numbers.ts. Lua's doubles hold them without loss.

local MAX = 9007199254740991
local INFINITY = math.huge

local function floorDiv(dividend, divisor)
  return math.floor(dividend / divisor)
end

local function ceilDiv(dividend, divisor)
  return math.ceil(dividend / divisor)
end

-- Fails the call because a value was not written by any definition.
local function refuseValue()
  error('sluice: this value is not a state of its rule: reset() removes it', 0)
end

-- Returns false for numbers that no definition writes: NaN, infinities, fractions, negative ones, more than 2^53 - 1.
local function isWhole(number)
  return number >= 0 and number <= MAX and number % 1 == 0
end
