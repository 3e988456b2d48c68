// Names for parts of a descriptor of Envoy: the door uses them for requests, and the import of files for policies.
//
// | name       | made of                                | for domain `edge`, entries `plan=free`, `remote_address=10.0.0.7`     |
// | ---------- | -------------------------------------- | --------------------------------------------------------------------- |
// | route      | the domain and the keys, joined by `|` | `edge|plan|remote_address`                                            |
// | client     | the values, joined by `|`              | `free|10.0.0.7`                                                       |
// | attributes | the domain and each entry              | `{ domain: 'edge', plan: 'free', remote_address: '10.0.0.7' }`        |
//
// Invariant: different descriptors have different pairs of client and route, whatever keys and values contain.

const SEPARATOR = '|'

export const DOMAIN = 'domain'

/** Joins parts, at least one, so that they can be told apart. */
export function joined(parts: readonly string[]): string {
  let text = escaped(parts[0])
  for (let i = 1; i < parts.length; i++) text += SEPARATOR + escaped(parts[i])
  return text
}

export function routeOf(domain: string, keys: readonly string[]): string {
  return joined([domain, ...keys])
}

/** Names that are taken: the domain is an attribute, and every request has a client and a route. */
const TAKEN = [DOMAIN, 'client', 'route']

/** Leaves space for a number. */
const LONGEST_NAME = 60

/**
 * Returns the name of an attribute for each key. Names are in lower case, and other characters than a-z, 0-9, `_`, `.` and `-` become
 * `_`: `X-User` is `x-user`, and `:path` is `x_path`. If a name is taken, it gets a number: `generic_key`, `generic_key.2`.
 */
export function attributeNames(keys: readonly string[]): readonly string[] {
  const taken = new Set(TAKEN)
  return keys.map((key) => {
    const plain = plainName(key)
    let name = plain
    for (let number = 2; taken.has(name); number++) name = `${plain}.${number}`
    taken.add(name)
    return name
  })
}

function plainName(key: string): string {
  const name = key.toLowerCase().replace(/[^a-z0-9_.-]/g, '_')
  return (/^[a-z]/.test(name) ? name : `x${name}`).slice(0, LONGEST_NAME)
}

function escaped(part: string): string {
  return part.includes(SEPARATOR) || part.includes('%') ? part.replaceAll('%', '%25').replaceAll(SEPARATOR, '%7C') : part
}
