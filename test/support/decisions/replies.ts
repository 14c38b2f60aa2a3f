/** Parts of replies, for those that a well-behaved model would not write. */
export const thinking = '<channel:thinking>Let me see.</channel:thinking>\n'

/** Thoughts, then an action as it is given: an object, or text that may be anything. */
export const action = (value: object | string): string =>
  `${thinking}<channel:action>${typeof value === 'string' ? value : JSON.stringify(value)}</channel:action>`

export const answer = (text: string): string => `\n<channel:answer>${text}</channel:answer>`
