/** The highest number of characters in the title of a conversation. A search reads the titles of all conversations. */
export const maximumTitleLength = 200

/** The problem with a title that a caller of the SDK or a bundle sets, or undefined. The HTTP API also rejects control characters. */
export const titleProblem = (title: string): string | undefined =>
  title.length > maximumTitleLength ? `must have at most ${maximumTitleLength} characters, not ${title.length}` : undefined
