import type { PromptBlock, PromptView } from '../../core/api/report.ts'
import { type Block, isHidden } from '../../core/block/block.ts'
import { binaryPartTokens } from '../../core/estimate/estimate.ts'
import { roughTokens, type TokenCounter } from '../../core/estimate/tokens.ts'
import { Failure } from '../../core/failure.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import type { Prompt } from '../../core/render/render.ts'
import { blockSpans } from '../../core/render/spans.ts'
import type { Part, Slice } from '../../core/render/types.ts'
import type { RenderedBlock } from '../../core/render/walk.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { Model, ModelRequest } from '../../ports/model.ts'
import type { Renderers } from '../conversation/renderers.ts'
import type { Turn } from '../turn/turn.ts'
import { withModel } from '../turn/turn-options.ts'
import { divergenceText } from './divergence.ts'
import { type Recording, recordingsIn } from './recording.ts'
import { runReplay } from './replay.ts'
import { type RecordedStore, type ReplayParts, setUpReplay } from './setup.ts'

interface RoundId {
  readonly turnId: string
  readonly iteration: number
}

/**
 * The prompt of one round, rebuilt by replaying the turn from the journal. `differs` is set when the rebuilt prompt differs from the
 * recorded one. This happens when the code, the tools or the texts have changed.
 */
export async function promptView(
  store: RecordedStore,
  conversationId: string,
  { turnId, iteration }: RoundId,
  parts: ReplayParts,
): Promise<PromptView> {
  for await (const recording of recordingsIn(store.readJournal(conversationId, { after: 0 }))) {
    if (recording.turnId !== turnId) continue
    if (recording.torn) throw missing(`turn ${turnId} can not be shown: a retention policy has removed part of its journal`)
    const { calls, divergence } = await replayCalls(store, conversationId, recording, { ...parts, anySystem: true })
    const call = calls.find(({ response }) => response.iteration === iteration)
    if (!call) {
      const before = divergence ? ` that can be shown: the replay differs before it, at ${divergenceText(divergence)}` : ''
      throw missing(`turn ${turnId} has no round ${iteration}${before}`)
    }
    const isHere = divergence?.kind === 'prompt' && divergence.iteration === iteration
    return { ...viewOf(call, parts.tokens ?? roughTokens), ...(isHere && { differs: divergenceText(divergence) }) }
  }
  throw missing(`there is no turn ${turnId}`)
}

interface RecordedCall {
  readonly request: ModelRequest
  readonly response: ResponseReceived
  readonly layout: PromptLayout | undefined
}

/** The blocks from which the parts of a prompt were made. */
interface PromptLayout {
  readonly prompt: Prompt
  readonly shown: Slice['shown']
}

/** The calls of the decision model. Each has the request that the current code makes, and the recorded response. */
async function replayCalls(store: RecordedStore, conversationId: string, recording: Recording, parts: ReplayParts) {
  const setup = await setUpReplay(store, conversationId, recording, parts)
  const responses = recording.entries.flatMap(({ change }) =>
    change.type === 'response.received' && change.role === undefined ? [change] : [],
  )
  const calls: RecordedCall[] = []
  const layouts = new WeakMap<readonly Part[], PromptLayout>()
  const observe = (decision: Model): Model => ({
    ...decision,
    async *stream(request, signal) {
      const response = responses[calls.length]
      if (response) calls.push({ request, response, layout: layouts.get(request.parts) })
      let answered = false
      for await (const event of decision.stream(request, signal)) {
        answered ||= response === undefined || response.error !== undefined || !isTooLong(event)
        yield event
      }
      // The call is not in the journal. Either its prompt was too long and the turn repeated it with a shorter prompt, or the process died
      // during the call.
      if (response && !answered) calls.pop()
    },
  })
  const observed = (turn: Turn): Turn => ({
    ...turn,
    agent: withModel(turn.agent, observe(turn.agent.models.decision)),
    conversation: { ...turn.conversation, renderers: withLayouts(turn.conversation.renderers, layouts) },
  })
  const resumed = () => {
    const turn = setup.resumed()
    return turn && observed(turn)
  }
  const divergence = await runReplay({ ...setup, turn: observed(setup.turn), resumed }, recording)
  return { calls, divergence }
}

/** The renderers, which also remember from which blocks they made the parts of each prompt. */
function withLayouts(renderers: Renderers, layouts: WeakMap<readonly Part[], PromptLayout>): Renderers {
  const { renderer } = renderers
  return {
    ...renderers,
    renderer: {
      ...renderer,
      render(timeline, options) {
        const prompt = renderer.render(timeline, options)
        layouts.set(prompt.parts, { prompt, shown: renderer.slice(timeline, options.currentTurnId).shown })
        return prompt
      },
    },
  }
}

function viewOf({ request, response, layout }: RecordedCall, count: TokenCounter): PromptView {
  const { usage } = response
  return {
    turn_id: response.turn_id,
    iteration: response.iteration,
    model: response.prompt?.model ?? null,
    system: request.system,
    parts: request.parts.map((part) => partOf(part, count)),
    blocks: layout ? blocksOfPrompt(request.system, layout) : [],
    usage: usage ? { uncached: usage.uncached, cache_read: usage.cache_read, cache_write: usage.cache_write, output: usage.output } : null,
  }
}

/** The blocks of a prompt with their positions: the system text, the shown blocks, and the tail. */
function blocksOfPrompt(system: string, { prompt: { parts, points, stableParts }, shown }: PromptLayout): PromptBlock[] {
  const spans = new Map<number, PromptBlock['spans']>()
  // The cast is safe: `shown` has the blocks of the renderer, which also have the field `joined`.
  for (const { position, ...span } of blockSpans(shown as readonly RenderedBlock[], points))
    spans.set(position, [...(spans.get(position) ?? []), span])
  const tail = parts.slice(stableParts).map((part, index) => ({ part: stableParts + index, start: 0, end: textLength(part) }))
  return [
    { key: 'system', type: 'system', marked: points.length > 0, spans: [{ part: -1, start: 0, end: system.length }] },
    ...shown.map(({ block }, position) => blockOf(block, points.includes(position), spans.get(position) ?? [])),
    ...(tail.length > 0 ? [{ key: 'tail', type: 'tail', marked: false, spans: tail }] : []),
  ]
}

const textLength = (part: Part): number => (part.type === 'text' ? part.text.length : 0)

function blockOf(block: Block, marked: boolean, spans: PromptBlock['spans']): PromptBlock {
  const { id: key, type, author, path, turn_id, ts } = block
  const hidden = isHidden(block) ? { hidden: true as const } : {}
  return { key, type, author, ...(path !== undefined && { path }), turn_id, ...(ts !== '' && { ts }), ...hidden, marked, spans }
}

function partOf(part: Part, count: TokenCounter): PromptView['parts'][number] {
  const marked = part.cache === true
  if (part.type === 'text') return { type: 'text', text: part.text, marked, tokens: count(part.text) }
  return { type: part.type, media_type: part.media_type, size_bytes: part.blob.size, marked, tokens: binaryPartTokens(part) }
}

const isTooLong = (event: ModelEvent) => event.type === 'error' && event.error.kind === 'context_overflow'

const missing = (message: string) => new Failure('turn.missing', message)
