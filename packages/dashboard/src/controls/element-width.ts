// The current width of an element, for pictures that are drawn to the pixel.

import type { RefObject } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'

export function useElementWidth(ref: RefObject<Element | null>): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    setWidth(Math.floor(element.getBoundingClientRect().width))
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)))
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return width
}
