import type { ModelRequest } from '../../../ports/model.ts'
import { neutral } from './decide/quote.ts'
import { situationOf } from './prompt/situation.ts'

const longest = 6

/** A title: the first words of the message, or the name of what came with it. */
export function gateResponse(request: ModelRequest): string {
  const { request: said, documents } = situationOf(request)
  const words = neutral(said)
    .replace(/["\\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
  const title =
    words.length === 0
      ? (documents[0]?.name ?? null)
      : `${words
          .slice(0, longest)
          .join(' ')
          .replace(/[\s,.;:!?]+$/, '')}${words.length > longest ? ' …' : ''}`
  const output = JSON.stringify({ conversation_title: title === '' ? null : title })
  return `<channel:thinking>The first words name it.</channel:thinking>\n<channel:output>${output}</channel:output>`
}
