// The library's name of a hold, in a short form. The library repeats the key for each held rule, and a key can have thousands of
// characters. The service knows the key, so a mark stands for it.
// Invariant: `fullHeld(shortHeld(held, key), key)` is `held`, whatever both contain.

/** Stands for the key. JSON never contains it. */
const MARK = '\u0000'

/** The first character tells if marks stand for the key. */
const SHORT = '-'
const AS_IS = '='

/** Returns the name with a mark for each occurrence of the key in JSON. */
export function shortHeld(held: string, key: string): string {
  return held.includes(MARK) ? AS_IS + held : SHORT + held.replaceAll(JSON.stringify(key), MARK)
}

export function fullHeld(short: string, key: string): string {
  const held = short.slice(1)
  return short.startsWith(SHORT) ? held.split(MARK).join(JSON.stringify(key)) : held
}
