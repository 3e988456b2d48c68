// The library's name of a hold, in a short form. The library repeats the key for each held rule, and keys repeat the texts of the
// request, which can have thousands of characters. The service knows these texts, so marks stand for them.
// Invariant: `fullHeld(shortHeld(held, texts), texts)` is `held`, whatever both contain. No text of more than LONGEST_HELD characters is made:
// the owner of an API key can seal any token, and a mark of one character may stand for thousands.

/** The first character tells if marks stand for texts. */
const SHORT = '-'
const AS_IS = '='

/** Marks are the control characters, which JSON never contains. */
const MARKS = 32

/** The longest name that the library takes. */
export const LONGEST_HELD = 2 ** 20

/** Returns the name with marks for the texts, of which there are at most 32. */
export function shortHeld(held: string, texts: readonly string[]): string {
  if (hasMark(held)) return AS_IS + held
  let short = held
  for (const { mark, written } of marked(texts)) short = short.replaceAll(written, mark)
  return SHORT + short
}

/** Returns an empty text, which names no hold, if the name would be too long. */
export function fullHeld(short: string, texts: readonly string[]): string {
  let held = short.slice(1)
  if (!short.startsWith(SHORT)) return held
  const marks = marked(texts)
  const lengths = new Array<number>(MARKS).fill(1)
  for (const { mark, written } of marks) lengths[mark.charCodeAt(0)] = written.length
  let length = 0
  for (let i = 0; i < held.length; i++) length += lengths[held.charCodeAt(i)] ?? 1
  if (length > LONGEST_HELD) return ''
  for (const { mark, written } of marks) held = held.split(mark).join(written)
  return held
}

function hasMark(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < MARKS) return true
  return false
}

/** Returns the texts as JSON has them, the longest first, with their marks. */
function marked(texts: readonly string[]): readonly { readonly mark: string; readonly written: string }[] {
  return texts
    .slice(0, MARKS)
    .map((text, i) => ({ mark: String.fromCharCode(i), written: JSON.stringify(text).slice(1, -1) }))
    .filter(({ written }) => written !== '')
    .sort((a, b) => b.written.length - a.written.length)
}
