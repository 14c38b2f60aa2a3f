/** Parts of model responses, to build invalid ones. */
export const thinking = '<channel:thinking>Let me see.</channel:thinking>\n'

/** A response with thinking and an action. The action is an object or any text. */
export const action = (value: object | string): string =>
  `${thinking}<channel:action>${typeof value === 'string' ? value : JSON.stringify(value)}</channel:action>`

export const answer = (text: string): string => `\n<channel:answer>${text}</channel:answer>`
