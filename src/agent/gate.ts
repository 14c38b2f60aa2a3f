import { stage } from '../core/block/index.ts'
import { isObject } from '../core/json.ts'
import type { Channel } from '../core/stream/channel.ts'
import { parseModelJson } from '../core/stream/json-parse.ts'
import { enter } from '../core/timeline/enter.ts'
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
  const request = { role: 'gate' as const, system: gateText, parts, ...turn.settings.gate, cacheKey: turn.conversationId }
  let raw = ''
  let finish = 'other'
  for await (const event of turn.models.gate.stream(request, turn.signal)) {
    if (event.type === 'text.delta') raw += event.text
    else if (event.type === 'finish') finish = event.finishReason
    else if (event.type === 'error') finish = 'error'
  }
  if (turn.signal.aborted) return // nothing more is entered; whoever takes the turn up asks again
  const title = titleIn(raw)
  const ts = turn.clock.now()
  const callId = turn.clock.randomHex(12)
  await turn.ledger.commit((timeline) => [
    { type: 'response.received', role: 'gate', turn_id: turn.turnId, ts, iteration: 0, call_id: callId, raw, finish_reason: finish },
    ...(title === undefined
      ? []
      : [
          { type: 'title.set' as const, ts, title },
          {
            type: 'blocks.appended' as const,
            blocks: enter(timeline, [stage('gate', turn.turnId, ts, `[STAGE: GATE OUTPUT]\nconversation_title: ${title}`)]),
          },
        ]),
  ])
}

/** From the output channel, else from any `"conversation_title": "…"` in sight. */
export function titleIn(raw: string): string | undefined {
  const { channels } = cutIntoChannels(raw, gateChannels)
  const parsed = parseModelJson(channels.find(({ name }) => name === 'output')?.instances.join('') ?? '')
  const said = parsed.ok && isObject(parsed.value) ? parsed.value.conversation_title : undefined
  const found = typeof said === 'string' ? said : /"conversation_title"\s*:\s*"([^"\n]{1,120})"/.exec(raw)?.[1]
  const title = found?.replace(/\s+/g, ' ').trim().slice(0, longestTitle)
  return title ? title : undefined
}
