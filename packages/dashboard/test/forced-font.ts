// Forces a wide or a narrow font on a page, with the same effect on every machine. The letters are those of the bundled
// typeface, 1.2 times or 0.75 times as wide. That is about the range from Verdana to Arial Narrow.

import { createRequire } from 'node:module'
import type { BrowserContext } from 'playwright-core'

export type ForcedFont = 'wide' | 'narrow'

/** Widths of the letters, relative to the bundled typeface. */
export const FONT_SCALES: Readonly<Record<ForcedFont, number>> = { wide: 1.2, narrow: 0.75 }

const file = createRequire(import.meta.url).resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2')

/** Applies the font to every page that the context opens from now on, including canvas pictures. */
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
  // The pages' Content-Security-Policy forbids a style element, but allows a constructed style sheet.
  await context.addInitScript((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    document.adoptedStyleSheets.push(sheet)
  }, style)
}
