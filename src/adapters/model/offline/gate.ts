import { readSituation } from '../../../offline/prompt/situation.ts'
import type { ModelRequest } from '../../../ports/model.ts'
import { escapeMarkup } from './decide/quote.ts'

const maxTitleWords = 6

/** A title: the first words of the message, or the name of what came with it. */
export function titleResponse(request: ModelRequest): string {
  const { request: said, documents } = readSituation(request)
  const words = escapeMarkup(said)
    .replace(/["\\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
  const title =
    words.length === 0
      ? (documents[0]?.name ?? null)
      : `${words
          .slice(0, maxTitleWords)
          .join(' ')
          .replace(/[\s,.;:!?]+$/, '')}${words.length > maxTitleWords ? ' …' : ''}`
  const output = JSON.stringify({ conversation_title: title === '' ? null : title })
  return `<channel:thinking>The first words name it.</channel:thinking>\n<channel:output>${output}</channel:output>`
}
