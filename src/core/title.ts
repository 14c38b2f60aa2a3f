/**
 * The highest number of characters in the title of a conversation. There is a limit because a search reads the titles of all conversations.
 */
export const maximumTitleLength = 200

/**
 * Describes why a title is not allowed, as the end of a sentence that begins with the name of the field. Undefined when the title is
 * allowed. The HTTP API also rejects control characters.
 */
export const titleProblem = (title: string): string | undefined =>
  title.length > maximumTitleLength ? `must have at most ${maximumTitleLength} characters, not ${title.length}` : undefined
