// The fields of a request that carry an API key.

/** Returns the key of a field with nothing but the key, or of `Authorization: Bearer`. */
export function keyIn(apiKey: string | undefined, authorization: string | undefined): string | undefined {
  if (apiKey !== undefined && apiKey !== '') return apiKey
  return authorization?.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() : undefined
}
