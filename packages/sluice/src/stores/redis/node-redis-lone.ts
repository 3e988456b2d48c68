// Commands of node-redis without its timeout. node-redis drops a command that it could not write in time, by default within five seconds,
// and makes a signal and a timer for each. That takes a fifth of the time of a lone hit. A command on an idle connection is written at
// once, so it goes without.
// Invariant: at most one command waits for the connection without a bound. Its call ends at its deadline as all do.

export interface NodeRedisSender {
  sendCommand(command: readonly string[], options?: { readonly timeout: number }): Promise<unknown>
}

const WITHOUT_TIMEOUT = { timeout: 0 }

/** Returns a function that sends a command. Commands of all its clients count as one another's company. */
export function sendingLone(): (client: NodeRedisSender, command: readonly string[]) => Promise<unknown> {
  let underWay = 0
  const onEnd = (): void => {
    underWay -= 1
  }
  return (client, command) => {
    const sent = client.sendCommand(command, underWay === 0 ? WITHOUT_TIMEOUT : undefined)
    underWay += 1
    sent.then(onEnd, onEnd)
    return sent
  }
}
