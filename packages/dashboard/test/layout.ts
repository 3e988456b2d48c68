// Checks where the text of a page stands. The page itself measures everything, so no pixel number is written here.

import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Elements that must contain their text. A text that leaves its box looks broken and covers its neighbour. */
const BOXES = '.card, .health, .note, dialog, td, th, .button, .chip, .segments label, .figure, .tick, summary, li, dd, dt'

/** Returns texts that leave their box. A text that an element in between cuts off does not leave it. */
export function textOutside(page: Page): Promise<string[]> {
  return page.evaluate((boxes) => {
    const found: string[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const parent = node.parentElement as Element
      if (node.nodeValue?.trim() === '' || parent.closest('.unseen, .skip, script, option, title') !== null) continue
      if (!parent.checkVisibility()) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      for (const rect of range.getClientRects()) {
        let { left, right } = rect
        // The height of a line differs from font to font. The middle of the line decides.
        const middle = (rect.top + rect.bottom) / 2
        for (let box: Element | null = parent; box !== null && box !== document.body; box = box.parentElement) {
          const frame = box.getBoundingClientRect()
          const { overflowX, display } = getComputedStyle(box)
          if (display === 'inline' || display === 'contents') continue
          if (overflowX !== 'visible') {
            left = Math.max(left, frame.left)
            right = Math.min(right, frame.right)
            if (left >= right || middle < frame.top || middle > frame.bottom) break
          }
          if (!box.matches(boxes)) continue
          if (left < frame.left - 1 || right > frame.right + 1 || middle < frame.top || middle > frame.bottom) {
            const name = `${box.tagName.toLowerCase()}.${[...box.classList].join('.')}`
            found.push(`${JSON.stringify(node.nodeValue?.slice(0, 40))} leaves ${name} by ${Math.round(right - frame.right)} px`)
            break
          }
          // A dialog stands over the page, not inside the box that opened it.
          if (box.tagName === 'DIALOG') break
        }
      }
    }
    return [...new Set(found)]
  }, BOXES)
}

/** Returns names that are cut off and have no title with the whole name. */
export function cutWithoutTitle(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('body *')].flatMap((element) => {
      const { textOverflow, webkitLineClamp } = getComputedStyle(element)
      const range = document.createRange()
      range.selectNodeContents(element)
      const last = [...range.getClientRects()].at(-1)
      const isCut =
        (textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth) ||
        (webkitLineClamp !== 'none' && last !== undefined && last.top > element.getBoundingClientRect().bottom - 1)
      if (!isCut || !element.checkVisibility()) return []
      const text = element.textContent ?? ''
      return element.closest('[title]')?.getAttribute('title')?.includes(text) ? [] : [text.slice(0, 60)]
    }),
  )
}

/** Returns texts that are cut off, with or without a title. */
export function cutShort(page: Page, selector: string): Promise<(string | null)[]> {
  return page.evaluate(
    (wanted) =>
      [...document.querySelectorAll(wanted)]
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ textContent }) => textContent),
    selector,
  )
}

/** Returns words that a narrow cell breaks in two. */
export function brokenWords(page: Page, within: string): Promise<string[]> {
  return page.evaluate((selector) => {
    const found: string[] = []
    for (const cell of document.querySelectorAll(selector)) {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        for (const { 0: word, index } of (node.nodeValue ?? '').matchAll(/\S+/g)) {
          const range = document.createRange()
          range.setStart(node, index)
          range.setEnd(node, index + word.length)
          if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word)
        }
      }
    }
    return found
  }, within)
}

/** Returns position and size of each matching element, as text. Two results are equal if nothing has moved. */
export function places(page: Page, selector: string): Promise<string[]> {
  return page.evaluate(async (wanted) => {
    await document.fonts.ready
    return [...document.querySelectorAll(wanted)].map((element) => {
      const { left, top, width, height } = element.getBoundingClientRect()
      const place = [left, top + scrollY, width, height].map((number) => number.toFixed(1)).join(' ')
      return `${element.tagName.toLowerCase()}.${element.classList[0] ?? ''} ${place}`
    })
  }, selector)
}

/** Fails with everything that is wrong with the current layout. `what` names it in the message. */
export async function expectWellLaidOut(page: Page, what?: string): Promise<void> {
  const look = async () => {
    const [sidewaysBy, outside, cut] = await Promise.all([
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
      textOutside(page),
      cutWithoutTitle(page),
    ])
    return { sidewaysBy, outside, cutWithoutTitle: cut }
  }
  // Waits a moment, because pictures are drawn again after the page became narrower.
  await expect
    .poll(look, { timeout: 3000, ...(what !== undefined && { message: what }) })
    .toEqual({ sidewaysBy: 0, outside: [], cutWithoutTitle: [] })
}
