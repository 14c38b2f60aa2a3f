import type { PromptView } from '../../core/api/report.ts'
import { partTokens } from '../../core/estimate/estimate.ts'
import { roughTokens, type TokenCounter } from '../../core/estimate/tokens.ts'
import { Failure } from '../../core/failure.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import type { Part } from '../../core/render/types.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { Model, ModelRequest } from '../../ports/model.ts'
import { divergenceText } from './divergence.ts'
import { type Recording, recordingsIn } from './recording.ts'
import { runReplay } from './replay.ts'
import { type RecordedStore, type ReplayParts, setUpReplay } from './setup.ts'

export interface RoundId {
  readonly turnId: string
  readonly iteration: number
}

/**
 * What the model read in one round, made again from the journal by going through the turn once more. Where the present code, or an agent
 * with other tools or texts, makes something else of it, that is said.
 */
export async function promptView(
  store: RecordedStore,
  conversationId: string,
  { turnId, iteration }: RoundId,
  parts: ReplayParts,
): Promise<PromptView> {
  for await (const recording of recordingsIn(store.readJournal(conversationId, { after: 0 }))) {
    if (recording.turnId !== turnId) continue
    if (recording.torn) throw missing(`what turn ${turnId} saw was let go`)
    const { asked, divergence } = await replayCalls(store, conversationId, recording, { ...parts, anySystem: true })
    const found = asked.find(({ response }) => response.iteration === iteration)
    if (!found) {
      const before = divergence ? ` that can be shown: before it, ${divergenceText(divergence)}` : ''
      throw missing(`turn ${turnId} has no round ${iteration}${before}`)
    }
    const isHere = divergence?.kind === 'prompt' && divergence.iteration === iteration
    return { ...viewOf(found, parts.tokens ?? roughTokens), ...(isHere && { differs: divergenceText(divergence) }) }
  }
  throw missing(`there is no turn ${turnId}`)
}

interface RecordedCall {
  readonly request: ModelRequest
  readonly response: ResponseReceived
}

async function replayCalls(store: RecordedStore, conversationId: string, recording: Recording, parts: ReplayParts) {
  const stage = setUpReplay(store, conversationId, recording, parts)
  const responses = recording.entries.flatMap(({ change }) =>
    change.type === 'response.received' && change.role === undefined ? [change] : [],
  )
  const asked: RecordedCall[] = []
  const { decision, ...others } = stage.turn.models
  const listening: Model = {
    ...decision,
    async *stream(request, signal) {
      const response = responses[asked.length]
      if (response) asked.push({ request, response })
      for await (const event of decision.stream(request, signal)) {
        if (response && !response.error && isTooLong(event)) asked.pop() // nothing was written down of it: it is asked again, shorter
        yield event
      }
    },
  }
  const divergence = await runReplay({ ...stage, turn: { ...stage.turn, models: { ...others, decision: listening } } }, recording)
  return { asked, divergence }
}

function viewOf({ request, response }: RecordedCall, count: TokenCounter): PromptView {
  const { usage } = response
  return {
    turn_id: response.turn_id,
    iteration: response.iteration,
    model: response.prompt?.model ?? null,
    system: request.system,
    parts: request.parts.map((part) => partOf(part, count)),
    usage: usage ? { uncached: usage.uncached, cache_read: usage.cache_read, cache_write: usage.cache_write, output: usage.output } : null,
  }
}

function partOf(part: Part, count: TokenCounter): PromptView['parts'][number] {
  const marked = part.cache === true
  if (part.type === 'text') return { type: 'text', text: part.text, marked, tokens: count(part.text) }
  return { type: part.type, media_type: part.media_type, size_bytes: part.blob.size, marked, tokens: partTokens(part) }
}

const isTooLong = (event: ModelEvent) => event.type === 'error' && event.error.kind === 'context_overflow'

const missing = (message: string) => new Failure('turn.missing', message)
