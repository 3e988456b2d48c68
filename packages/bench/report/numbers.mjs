// Text of numbers in the tables: three digits and a unit. NaN is a failed measurement.

/** @param {number} rate 1234567 becomes '1.23 M/s' */
export function perSecond(rate) {
  return rate < 1e6 ? withUnit(rate / 1e3, ' k/s') : withUnit(rate / 1e6, ' M/s')
}

/** @param {number} ratio 4.567 becomes '4.57×' */
export function times(ratio) {
  return withUnit(ratio, '×')
}

/** @param {number} ms 0.01234 becomes '0.0123 ms' */
export function milliseconds(ms) {
  return withUnit(ms, ' ms')
}

/** @param {number} micros 7.234 becomes '7.23 µs' */
export function microseconds(micros) {
  return withUnit(micros, ' µs')
}

/** @param {number} share 0.995 becomes '99.5 %' */
export function percent(share) {
  return withUnit(share * 100, ' %')
}

/** @param {number} number 68.94 becomes '68.9' */
export function threeDigits(number) {
  return withUnit(number, '')
}

/** @param {number} keys a power of ten or a small multiple: 4000000 becomes '4 M keys' */
export function keyCount(keys) {
  if (keys >= 1e6) return `${keys / 1e6} M keys`
  if (keys >= 1e3) return `${keys / 1e3} k keys`
  return keys === 1 ? '1 key' : `${keys} keys`
}

/**
 * @param {number} number
 * @param {string} unit
 */
export function withUnit(number, unit) {
  if (Number.isNaN(number)) return 'failed'
  const digits = number >= 100 ? number.toFixed(0) : number.toPrecision(3)
  return `${digits}${unit}`
}
