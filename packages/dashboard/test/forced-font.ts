// Forces a wide or a narrow font on a page, by a style that has the same effect on every machine: the letters are those of the
// typeface that comes with the pages, a fifth wider or a quarter narrower. That is about the range from Verdana to Arial Narrow.

import { createRequire } from 'node:module'
import type { BrowserContext } from 'playwright-core'

export type ForcedFont = 'wide' | 'narrow'

/** Widths of the letters, as a share of those that come with the pages. */
export const FONT_SCALES: Readonly<Record<ForcedFont, number>> = { wide: 1.2, narrow: 0.75 }

const file = createRequire(import.meta.url).resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2')

/** Every page of the context that is opened from now on has the font, pictures on a canvas included. */
export async function forceFont(context: BrowserContext, font: ForcedFont): Promise<void> {
  await context.route('**/forced-font.woff2', (route) => route.fulfill({ path: file, contentType: 'font/woff2' }))
  const style = `
    @font-face {
      font-family: Forced;
      font-weight: 100 900;
      font-display: block;
      src: url(/forced-font.woff2) format("woff2");
      size-adjust: ${FONT_SCALES[font] * 100}%;
    }
    * { font-family: Forced !important }`
  // A style element is against the pages' Content-Security-Policy. A constructed style sheet is not.
  await context.addInitScript((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    document.adoptedStyleSheets.push(sheet)
  }, style)
}
