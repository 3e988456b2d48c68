-- Exact arithmetic with whole numbers below 2^53, as in core/whole-numbers.ts. Lua's doubles hold them without loss.

local MAX = 9007199254740991
local INFINITY = math.huge

local function floorDiv(dividend, divisor)
  return math.floor(dividend / divisor)
end

local function ceilDiv(dividend, divisor)
  return math.ceil(dividend / divisor)
end

-- Exact also where factor * times passes 2^53. Needs factor < divisor.
local function ceilMulDiv(factor, times, divisor)
  if factor * times <= MAX then return ceilDiv(factor * times, divisor) end
  local quotient, rest, left = 0, 0, times
  local bit = 2 ^ 52
  while bit >= 1 do
    quotient = quotient * 2
    rest = rest * 2
    if rest >= divisor then
      rest = rest - divisor
      quotient = quotient + 1
    end
    if left >= bit then
      left = left - bit
      if rest >= divisor - factor then
        rest = rest - (divisor - factor)
        quotient = quotient + 1
      else
        rest = rest + factor
      end
    end
    bit = bit / 2
  end
  return rest > 0 and quotient + 1 or quotient
end

-- Fails the call because a value was not written by any definition.
local function refuseValue()
  error('sluice: this value is not a state of its rule: reset() removes it', 0)
end

-- Returns false for numbers that no definition writes: NaN, infinities, fractions, negative ones, more than 2^53 - 1.
local function isWhole(number)
  return number >= 0 and number <= MAX and number % 1 == 0
end
