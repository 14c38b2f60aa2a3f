import type { ConversationView, LiveLane } from 'daybook/client'

/**
 * The view to show after `shown`. When the connection to the server is opened again, the text of the running round is sent again from its
 * beginning. Until the new text is as long as the text on the screen, the text on the screen stays. Otherwise it would shrink and grow
 * again.
 */
export function keepShownText(shown: ConversationView, folded: ConversationView): ConversationView {
  const [before, after] = [shown.live, folded.live]
  if (!before || !after || before === after) return folded
  if (before.turnId !== after.turnId || before.iteration !== after.iteration || before.attempt !== after.attempt) return folded
  const lanes = after.lanes.map((lane) => before.lanes.find((known) => isSentAgain(known, lane)) ?? lane)
  return lanes.every((lane, index) => lane === after.lanes[index]) ? folded : { ...folded, live: { ...after, lanes } }
}

const isSentAgain = (shown: LiveLane, now: LiveLane) =>
  now.text.length < shown.text.length &&
  now.marker === shown.marker &&
  now.artifactName === shown.artifactName &&
  now.format === shown.format &&
  shown.text.startsWith(now.text)

/** The number of paragraphs in the text up to the offset `readTo`. */
export interface ParagraphCount {
  readonly count: number
  readonly readTo: number
}

export const noParagraphs: ParagraphCount = { count: 1, readTo: 0 }

/** Counts the paragraphs of a text that grows at its end. Only the new part of the text is read. */
export function countParagraphs(text: string, before: ParagraphCount): ParagraphCount {
  let { count, readTo } = text.length < before.readTo ? noParagraphs : before
  for (let at = text.indexOf('\n\n', readTo); at >= 0; at = text.indexOf('\n\n', readTo)) {
    count++
    readTo = at + 2
  }
  return { count, readTo: text.endsWith('\n') ? Math.max(readTo, text.length - 1) : text.length } // the last newline may be the first half of a paragraph break
}
