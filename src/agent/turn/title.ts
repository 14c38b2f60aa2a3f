import { clarificationBlock, type Draft, stageBlock } from '../../core/block/index.ts'
import { parsePhrases } from '../../core/decision/decision.ts'
import { readPlainChannels } from '../../core/decision/fast-channels.ts'
import { isObject } from '../../core/json.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { parseModelJson } from '../../core/stream/json-parse.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import { callQuietly } from '../model-call/call-quietly.ts'
import { parseChannels } from '../model-call/read-response.ts'
import { titlePrompt } from '../prompts/texts.ts'
import type { Turn } from './turn.ts'

const titleChannels: readonly Channel[] = [
  { name: 'thinking', format: 'text' },
  { name: 'output', format: 'json' },
]
const maxTitleLength = 120

/** Names a new conversation. Whatever goes wrong, the turn goes on: a conversation can live without a title. */
export async function generateTitle(turn: Turn): Promise<void> {
  const { parts } = turn.renderers.renderer.render(turn.ledger.timeline, { currentTurnId: turn.turnId, points: () => [] })
  const response = await callQuietly(turn, { role: 'gate', system: titlePrompt, parts, ...turn.settings.gate })
  if (turn.signal.aborted) return // whoever takes the turn up asks again
  const { title, questions } = parseTitleResponse(response.raw)
  const { turnId } = turn
  const { ts } = response
  const drafts: readonly Draft[] = [
    ...(title === undefined ? [] : [stageBlock('gate', turnId, ts, `[STAGE: GATE OUTPUT]\nconversation_title: ${title}`)]),
    ...(questions.length > 0 ? [clarificationBlock(turnId, ts, questions)] : []),
  ]
  await turn.ledger.commit((timeline) => [
    response,
    ...(title === undefined || timeline.title !== undefined ? [] : [{ type: 'title.set' as const, ts, title }]), // what a person called it stays
    ...(drafts.length === 0 ? [] : [{ type: 'blocks.appended' as const, blocks: assignIds(timeline, drafts) }]),
  ])
}

/** From the output channel, else from any `"conversation_title": "…"` in sight. */
export function parseTitleResponse(raw: string): { readonly title: string | undefined; readonly questions: readonly string[] } {
  const channels = readPlainChannels(raw, titleChannels) ?? parseChannels(raw, titleChannels).channels
  const parsed = parseModelJson(channels.find(({ name }) => name === 'output')?.instances.join('') ?? '')
  const said = parsed.ok && isObject(parsed.value) ? parsed.value : {}
  const named = typeof said.conversation_title === 'string' ? said.conversation_title : undefined
  const found = named ?? /"conversation_title"\s*:\s*"([^"\n]{1,120})"/.exec(raw)?.[1]
  const title = found?.replace(/\s+/g, ' ').trim().slice(0, maxTitleLength)
  return { title: title ? title : undefined, questions: parsePhrases(said.clarification_questions) }
}
