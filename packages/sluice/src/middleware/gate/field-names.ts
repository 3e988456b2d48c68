// Names of fields in lower case, for frameworks that change names to lower case themselves. A constant name is changed much
// faster: it is its own lower case, and its hash is known.

const LOWER_CASE: Readonly<Record<string, string>> = { 'RateLimit-Policy': 'ratelimit-policy', RateLimit: 'ratelimit' }

/** Returns the lower case of a field of the default style, and any other name as it is. */
export function quickName(name: string): string {
  return LOWER_CASE[name] ?? name
}
