// Reads text that a page draws on a canvas: the labels of the chart. No element holds this text.

import type { Page } from 'playwright-core'

export interface DrawnText {
  readonly text: string
  /** Positions of the text and of its canvas, in pixels of the canvas. */
  readonly left: number
  readonly right: number
  readonly width: number
}

/** Starts recording at the next page load. Returns a function that returns the latest drawn texts, newest last. */
export async function recordDrawnText(page: Page): Promise<() => Promise<readonly DrawnText[]>> {
  await page.addInitScript(() => {
    const texts: DrawnText[] = []
    Object.assign(globalThis, { drawnTexts: texts })
    const fillText = CanvasRenderingContext2D.prototype.fillText
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      const { a, e } = this.getTransform()
      const { actualBoundingBoxLeft, actualBoundingBoxRight } = this.measureText(text)
      const left = a * (x - actualBoundingBoxLeft) + e
      texts.push({ text, left, right: left + a * (actualBoundingBoxLeft + actualBoundingBoxRight), width: this.canvas.width })
      if (texts.length > 100) texts.shift()
      fillText.call(this, text, x, y)
    }
  })
  return () => page.evaluate(() => (globalThis as unknown as { drawnTexts: DrawnText[] }).drawnTexts)
}
