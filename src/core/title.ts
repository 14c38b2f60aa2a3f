/** The highest number of characters in the title of a conversation. A search reads the titles of all conversations. */
export const maximumTitleLength = 200

/**
 * The problem with the title of a conversation, or undefined. A title is one line without control characters, because a control character
 * could move the cursor of a terminal or end an HTTP header.
 */
export function titleProblem(title: string): string | undefined {
  if (title.length > maximumTitleLength) return `must have at most ${maximumTitleLength} characters, not ${title.length}`
  return /\p{Cc}/u.test(title) ? 'must be one line, without control characters' : undefined
}
