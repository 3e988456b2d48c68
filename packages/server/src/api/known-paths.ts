// The paths of all routes and the methods that they take, for requests that no route takes.

/** As Fastify tells of a route. */
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

  /** The methods that a path takes, in order; none if nothing is there. */
  methodsOf(path: string): readonly string[] {
    const segments = decoded(path).split('/')
    const methods = [...this.#methods].flatMap(([url, each]) => (fits(url.split('/'), segments) ? [...each] : []))
    return [...new Set(methods)].sort()
  }
}

/** True if the segments of a path are those of a route, where `:name` stands for one that is not empty. */
function fits(route: readonly string[], path: readonly string[]): boolean {
  return route.length === path.length && route.every((part, i) => (part.startsWith(':') ? path[i] !== '' : part === path[i]))
}

/** As the router reads it; what cannot be decoded fits nothing but a parameter. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}
