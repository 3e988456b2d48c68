// Headers in which proxies report clients. They are lists to which each proxy appends an entry.
// Invariant: lists are read from the right, so that text to the left of an entry does not change its meaning.

import { parseAddress } from './address.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const SEMICOLON = 0x3b
const BACKSLASH = 0x5c

/** Finds the entries of a header, and the address in each. */
export interface ForwardedSyntax {
  /** Index of the comma before the entry that ends at `end`; −1 if it is the first. */
  commaBefore(list: string, end: number): number
  address(entry: string): Uint8Array | undefined
}

/** `X-Forwarded-For` and similar headers: addresses separated by commas. */
export const ADDRESS_LIST: ForwardedSyntax = {
  commaBefore: (list, end) => list.lastIndexOf(',', end - 1),
  address: hopAddress,
}

/** `Forwarded` (RFC 7239): entries such as `for="[2001:db8::1]:4711";proto=https`, separated by commas. */
export const FORWARDED: ForwardedSyntax = {
  commaBefore: (list, end) => {
    let isQuoted = false
    for (let i = end - 1; i >= 0; i--) {
      const code = list.charCodeAt(i)
      if (code === QUOTE && !isEscaped(list, i)) isQuoted = !isQuoted
      else if (code === COMMA && !isQuoted) return i
    }
    return -1
  },
  address: (entry) => {
    const node = forParameter(entry)
    return node === undefined ? undefined : hopAddress(node)
  },
}

/** Reads the address in `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`. */
export function hopAddress(entry: string): Uint8Array | undefined {
  const text = entry.trim()
  if (text.startsWith('[')) {
    const close = text.indexOf(']')
    const hasPortAtMost = close === text.length - 1 || text[close + 1] === ':'
    return close > 0 && hasPortAtMost ? parseAddress(text.slice(1, close)) : undefined
  }
  const colon = text.indexOf(':')
  const hasPort = colon >= 0 && colon === text.lastIndexOf(':')
  return parseAddress(hasPort ? text.slice(0, colon) : text)
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1
  return backslashes % 2 === 1
}

/** Returns the value of an entry's parameter `for`. Other parameters, such as `host`, may contain text of the client. */
function forParameter(entry: string): string | undefined {
  let from = 0
  let isQuoted = false
  for (let i = 0; i <= entry.length; i++) {
    const code = i < entry.length ? entry.charCodeAt(i) : SEMICOLON
    if (code === QUOTE) isQuoted = !isQuoted
    else if (code === BACKSLASH && isQuoted) i += 1
    else if (code === SEMICOLON && !isQuoted) {
      const parameter = entry.slice(from, i).trim()
      if (/^for=/i.test(parameter)) return unquoted(parameter.slice('for='.length))
      from = i + 1
    }
  }
  return undefined
}

function unquoted(value: string): string {
  return /^".*"$/.test(value) ? value.slice(1, -1).replaceAll(/\\(.)/g, '$1') : value
}
