// Reads the service's event feed while a page shows it.

import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf } from 'sluice-client/contract'
import type { CheckEvent } from './answers.ts'
import { askSession } from './session.ts'

const AGAIN_MS = 3000

/** Calls `onEvents` at most once per animation frame, with the events since the last call. Returns true while it is open. */
export function useFeed(onEvents: (events: readonly CheckEvent[]) => void): boolean {
  const [isOpen, setOpen] = useState(false)
  const latest = useRef(onEvents)
  latest.current = onEvents
  useEffect(() => {
    let source: EventSource
    let waiting: CheckEvent[] = []
    let frame = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const hand = () => {
      frame = 0
      const events = waiting
      waiting = []
      latest.current(events)
    }
    const open = () => {
      source = new EventSource(addressOf('watchEvents').path)
      source.addEventListener('open', () => setOpen(true))
      source.addEventListener('error', () => {
        setOpen(false)
        // The browser reopens a lost connection, but not a refused one. A refusal may mean that the session has ended.
        if (source.readyState !== EventSource.CLOSED) return
        askSession()
        timer = setTimeout(open, AGAIN_MS)
      })
      source.addEventListener('check', ({ data }) => {
        waiting.push(JSON.parse(data))
        if (frame === 0) frame = requestAnimationFrame(hand)
      })
    }
    open()
    return () => {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
      source.close()
    }
  }, [])
  return isOpen
}
