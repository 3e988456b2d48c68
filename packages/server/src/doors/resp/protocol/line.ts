// Splits a command that is written as a line into its words, by the rules of Redis: words may be quoted, and double quotes know escapes.

const ESCAPES: Readonly<Record<string, number>> = { n: 0x0a, r: 0x0d, t: 0x09, b: 0x08, a: 0x07 }

const SPACE = /[ \n\r\t\v\f\0]/

/** Returns the words; undefined if quotes are not closed, or if a word follows a closing quote without a space. */
export function splitLine(line: Buffer): readonly Buffer[] | undefined {
  const text = line.toString('latin1')
  const words: Buffer[] = []
  let at = 0
  while (at < text.length) {
    if (SPACE.test(text[at])) {
      at += 1
      continue
    }
    const word: number[] = []
    while (at < text.length && !SPACE.test(text[at])) {
      const quote = text[at]
      if (quote !== '"' && quote !== "'") {
        word.push(line[at])
        at += 1
        continue
      }
      const end = readQuoted(text, at + 1, quote, word)
      if (end < 0 || (end < text.length && !SPACE.test(text[end]))) return undefined
      at = end
    }
    words.push(Buffer.from(word))
  }
  return words
}

/** Adds the bytes up to the closing quote to `word`. Returns the index after the quote, or −1 if there is none. */
function readQuoted(text: string, start: number, quote: string, word: number[]): number {
  let at = start
  while (at < text.length) {
    const sign = text[at]
    if (sign === quote) return at + 1
    if (sign !== '\\' || at + 1 >= text.length) {
      word.push(text.charCodeAt(at))
      at += 1
    } else {
      at += readEscape(text, at, quote, word)
    }
  }
  return -1
}

/** Adds the byte of an escape to `word`. Returns the length of the escape. */
function readEscape(text: string, at: number, quote: string, word: number[]): number {
  const next = text[at + 1]
  if (quote === "'") {
    word.push((next === "'" ? next : '\\').charCodeAt(0))
    return next === "'" ? 2 : 1
  }
  const hex = /^x[0-9a-fA-F]{2}/.test(text.slice(at + 1, at + 4))
  if (hex) {
    word.push(Number.parseInt(text.slice(at + 2, at + 4), 16))
    return 4
  }
  word.push(ESCAPES[next] ?? next.charCodeAt(0))
  return 2
}
