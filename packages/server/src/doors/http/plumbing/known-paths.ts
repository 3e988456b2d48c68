// The paths of all routes with their methods. Used to answer requests that match no route.

/** The part of Fastify's route options that is used here. */
interface AddedRoute {
  readonly url: string
  readonly method: string | readonly string[]
}

export class KnownPaths {
  readonly #methods = new Map<string, Set<string>>()

  add({ url, method }: AddedRoute): void {
    const methods = this.#methods.get(url) ?? new Set()
    for (const each of [method].flat()) methods.add(each)
    this.#methods.set(url, methods)
  }

  /** Returns the sorted methods of a path, or an empty list for an unknown path. */
  methodsOf(path: string): readonly string[] {
    const segments = decoded(path).split('/')
    const methods = [...this.#methods].flatMap(([url, each]) => (fits(url.split('/'), segments) ? [...each] : []))
    return [...new Set(methods)].sort()
  }
}

/** True if the path matches the route. `:name` matches one segment that is not empty. */
function fits(route: readonly string[], path: readonly string[]): boolean {
  return route.length === path.length && route.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]))
}

/** Decodes like the router. A path that cannot be decoded stays as it is and matches only a parameter. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}
