// Width of text on a terminal in columns, and text shortened to a width.

/** Combining marks and joiners. */
const NO_COLUMN = /\p{Mn}|\p{Me}|\u200b|\u200c|\u200d/u

/** East Asian characters and emoji. Terminals disagree about a few of them; assuming two columns is safe. */
const TWO_COLUMNS =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u

export function widthOf(text: string): number {
  let columns = 0
  for (const character of text) columns += widthOfOne(character)
  return columns
}

/** Returns the text if it fits, or its beginning with an ellipsis. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  if (columns <= 0) return ''
  let kept = ''
  let width = 0
  for (const character of text) {
    width += widthOfOne(character)
    if (width > columns - 1) break
    kept += character
  }
  return `${kept}…`
}

function widthOfOne(character: string): number {
  if (character <= '~') return 1
  if (NO_COLUMN.test(character)) return 0
  return TWO_COLUMNS.test(character) ? 2 : 1
}
