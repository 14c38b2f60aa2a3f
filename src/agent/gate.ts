import { clarification, type Draft, stage } from '../core/block/index.ts'
import { readPhrases } from '../core/decision/decision.ts'
import { plainChannels } from '../core/decision/plain-channels.ts'
import { isObject } from '../core/json.ts'
import type { Channel } from '../core/stream/channel.ts'
import { parseModelJson } from '../core/stream/json-parse.ts'
import { enter } from '../core/timeline/enter.ts'
import { askPlainly } from './ask-plainly.ts'
import { cutIntoChannels } from './listen.ts'
import { gateText } from './prompt/gate.ts'
import type { Turn } from './turn.ts'

const gateChannels: readonly Channel[] = [
  { name: 'thinking', format: 'text' },
  { name: 'output', format: 'json' },
]
const longestTitle = 120

/** Names a new conversation. Whatever goes wrong, the turn goes on: a conversation can live without a title. */
export async function giveTitle(turn: Turn): Promise<void> {
  const { parts } = turn.view.renderer.render(turn.ledger.timeline, { currentTurnId: turn.turnId, points: () => [] })
  const response = await askPlainly(turn, { role: 'gate', system: gateText, parts, ...turn.settings.gate })
  if (turn.signal.aborted) return // whoever takes the turn up asks again
  const { title, questions } = readGate(response.raw)
  const { turnId } = turn
  const { ts } = response
  const drafts: readonly Draft[] = [
    ...(title === undefined ? [] : [stage('gate', turnId, ts, `[STAGE: GATE OUTPUT]\nconversation_title: ${title}`)]),
    ...(questions.length > 0 ? [clarification(turnId, ts, questions)] : []),
  ]
  await turn.ledger.commit((timeline) => [
    response,
    ...(title === undefined || timeline.title !== undefined ? [] : [{ type: 'title.set' as const, ts, title }]), // what a person called it stays
    ...(drafts.length === 0 ? [] : [{ type: 'blocks.appended' as const, blocks: enter(timeline, drafts) }]),
  ])
}

/** From the output channel, else from any `"conversation_title": "…"` in sight. */
export function readGate(raw: string): { readonly title: string | undefined; readonly questions: readonly string[] } {
  const channels = plainChannels(raw, gateChannels) ?? cutIntoChannels(raw, gateChannels).channels
  const parsed = parseModelJson(channels.find(({ name }) => name === 'output')?.instances.join('') ?? '')
  const said = parsed.ok && isObject(parsed.value) ? parsed.value : {}
  const named = typeof said.conversation_title === 'string' ? said.conversation_title : undefined
  const found = named ?? /"conversation_title"\s*:\s*"([^"\n]{1,120})"/.exec(raw)?.[1]
  const title = found?.replace(/\s+/g, ' ').trim().slice(0, longestTitle)
  return { title: title ? title : undefined, questions: readPhrases(said.clarification_questions) }
}
