// The service's feed of checks, for as long as somebody looks.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { CheckEvent } from './answers.ts'
import { askSession } from './session.ts'

const AGAIN_MS = 3000

/** Calls `onEvents` at most once for each frame, with what came since; → whether the feed is open. */
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
      source = new EventSource('/v1/events')
      source.addEventListener('open', () => setOpen(true))
      source.addEventListener('error', () => {
        setOpen(false)
        // A lost connection is opened again by the browser; one that was refused is not. Perhaps nobody is signed in any more.
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
