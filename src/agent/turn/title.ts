import { clarificationBlock, type Draft, stageBlock } from '../../core/block/index.ts'
import { cutAt } from '../../core/cut.ts'
import { parsePhrases } from '../../core/decision/decision.ts'
import type { Estimator } from '../../core/estimate/estimate.ts'
import { contextLimit } from '../../core/estimate/estimate.ts'
import { cutToTokens } from '../../core/estimate/tokens.ts'
import { isObject } from '../../core/json.ts'
import type { Part } from '../../core/render/types.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { parseModelJson } from '../../core/stream/json/parse.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import type { Model } from '../../ports/model.ts'
import { callQuietly } from '../model-call/call-quietly.ts'
import { parseChannels } from '../model-call/read-response.ts'
import { titlePrompt } from '../prompts/texts.ts'
import { endUnpriced, type Progress, type RoundResult } from './round.ts'
import type { Turn } from './turn.ts'

const titleChannels: readonly Channel[] = [
  { name: 'thinking', format: 'text' },
  { name: 'output', format: 'json' },
]
const maxTitleLength = 120

/**
 * Starts the first turn of a conversation, which gets a title. If the turn has a limit of money and the price of a model is not known, the
 * turn ends before any call.
 */
export async function startWithTitle(turn: Turn, progress: Progress): Promise<RoundResult> {
  const { agent, conversation } = turn
  const { gate, decision } = agent.models
  const hasPrice = ({ name }: Model) => conversation.spending.hasPrice(name)
  if (agent.settings.maxMoney !== undefined && !(hasPrice(gate) && hasPrice(decision))) return endUnpriced(progress)
  await generateTitle(turn)
  return { kind: 'next', progress }
}

/** Asks the gate model for a title of a new conversation. If the call fails, the conversation has no title. */
async function generateTitle(turn: Turn): Promise<void> {
  const { turnId, agent, conversation } = turn
  const { ledger, renderers } = conversation
  const prompt = renderers.renderer.render(ledger.timeline, { currentTurnId: turnId, points: () => [] })
  const limit = contextLimit(agent.settings, agent.models.gate.window) - renderers.estimator.text(titlePrompt)
  const parts = firstParts(prompt.parts, Math.min(TITLE_TOKENS, limit), renderers.estimator)
  const response = await callQuietly(turn, { role: 'gate', system: titlePrompt, parts, ...agent.settings.gate })
  // The agent was closed while the model wrote. The incomplete title is not committed. The process that resumes the turn asks for a title
  // again.
  if (conversation.signal.aborted && response.finish_reason === 'interrupted') return
  const { title, questions } = parseTitleResponse(response.raw)
  const { ts } = response
  const drafts: readonly Draft[] = [
    ...(title === undefined ? [] : [stageBlock('gate', turnId, ts, `[STAGE: GATE OUTPUT]\nconversation_title: ${title}`)]),
    ...(questions.length > 0 ? [clarificationBlock(turnId, ts, questions)] : []),
  ]
  await ledger.commit((timeline) => [
    response,
    // a title that the user has set while the model wrote is kept
    ...(title === undefined || timeline.title !== undefined ? [] : [{ type: 'title.set' as const, ts, title }]),
    ...(drafts.length === 0 ? [] : [{ type: 'blocks.appended' as const, blocks: assignIds(timeline, drafts) }]),
  ])
}

/** The beginning of the message is enough for a title. More tokens would only cost more. */
const TITLE_TOKENS = 4_000

/**
 * The first parts of the prompt, up to `maxTokens` tokens. A text that is too long is cut. Images and documents that are too large are left
 * out.
 */
function firstParts(parts: readonly Part[], maxTokens: number, estimator: Estimator): readonly Part[] {
  let room = maxTokens
  return parts.flatMap((part) => {
    const tokens = estimator.parts([part])
    const fitting =
      tokens <= room
        ? part
        : part.type === 'text'
          ? { ...part, text: cutToTokens(part.text, Math.max(0, room), estimator.text) }
          : undefined
    if (fitting === undefined || (fitting.type === 'text' && fitting.text === '')) return []
    room -= Math.min(tokens, room)
    return [fitting]
  })
}

/**
 * Reads title and questions from the channel `output`. If the channel has no valid JSON, the first `"conversation_title": "…"` in the
 * response is the title.
 */
export function parseTitleResponse(raw: string): { readonly title: string | undefined; readonly questions: readonly string[] } {
  const { channels } = parseChannels(raw, titleChannels)
  const parsed = parseModelJson(channels.find(({ name }) => name === 'output')?.instances.join('') ?? '')
  const output = parsed.ok && isObject(parsed.value) ? parsed.value : {}
  const titled = typeof output.conversation_title === 'string' ? output.conversation_title : undefined
  const found = titled ?? /"conversation_title"\s*:\s*"([^"\n]{1,120})"/.exec(raw)?.[1]
  const title = found && cutAt(found.replace(/\s+/g, ' ').trim(), maxTitleLength)
  return { title: title ? title : undefined, questions: parsePhrases(output.clarification_questions) }
}
