// Distinguishes browsers from programs by their Accept header.

/**
 * True if the header names `text/html` and prefers it to JSON, as browsers do. Wildcards do not count: programs send them, and
 * they get JSON.
 */
export function prefersHtml(accept = ''): boolean {
  return qualityOf('text/html', accept) > qualityOf('application/json', accept)
}

/** Returns 0 if the header does not name the type. */
function qualityOf(type: string, accept: string): number {
  for (const range of accept.toLowerCase().split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim())
    if (name !== type) continue
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0
  }
  return 0
}
