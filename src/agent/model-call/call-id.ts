import { createHash } from 'node:crypto'

/**
 * The id of a call in a response. The first call has the id that was made for the response. The ids of the others are derived from it, so
 * that recovery and replay find the same ids.
 */
export const callIdAt = (first: string, index: number): string =>
  index === 0 ? first : createHash('sha256').update(`${first}/${index}`).digest('hex').slice(0, 12)
