// Names of fields in lower case, for frameworks that change names to lower case themselves. A constant name is changed much
// faster: it is its own lower case, and its hash is known.

/** Returns the lower case of a field of the default style, and any other name as it is. */
export function quickName(name: string): string {
  if (name === 'RateLimit') return 'ratelimit'
  return name === 'RateLimit-Policy' ? 'ratelimit-policy' : name
}
