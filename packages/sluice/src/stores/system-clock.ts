// The machine's clock, for stores. Engines need it too, and stand below the stores.

export { checkedClock, systemClock } from '../engines/system-clock.ts'
