// The part of autocannon that the bench uses. The package has no types of its own.

declare module 'autocannon' {
  interface Result {
    readonly requests: { readonly total: number }
    readonly non2xx: number
    readonly errors: number
    /** Seconds. */
    readonly duration: number
  }
  export default function autocannon(options: {
    url: string
    connections: number
    /** Seconds. */
    duration?: number
    /** Requests; in place of a duration. */
    amount?: number
    sampleInt: number
  }): Promise<Result>
}
