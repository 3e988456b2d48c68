// The part of the package memcached that the bench uses. It has no types of its own.

declare module 'memcached' {
  export default class Memcached {
    constructor(servers: string)
    incr(key: string, amount: number, callback: (error: unknown, count: number | false) => void): void
    add(key: string, value: number, lifetimeSeconds: number, callback: (error: unknown) => void): void
    end(): void
  }
}
