import type { Block, Change, ConversationStore } from 'daybook'

const words = 'and then the next point of the report follows, which names the figures of the month, '
const textOf = (n: number) => `${n}: ${words.repeat(4)}`.slice(0, 300)
const owner = { id: 'seed', host: 'bench', pid: process.pid }
const TURNS_PER_APPEND = 250

/** Writes a conversation with this many messages. Half of them are messages of the user, and half are answers. All of them are visible. */
export async function seed(store: ConversationStore, conversationId: string, messages: number): Promise<void> {
  const claim = await store.claim(conversationId, owner)
  const turns = messages / 2
  for (let from = 0; from < turns; from += TURNS_PER_APPEND) {
    const count = Math.min(TURNS_PER_APPEND, turns - from)
    await store.append(claim, Array.from({ length: count }, (_, n) => turnOf(from + n)).flat())
  }
  await store.release(claim)
}

function turnOf(n: number): readonly Change[] {
  const ts = new Date(1.7e12 + n * 60_000).toISOString()
  const turn_id = `turn_${1.7e12 + n * 60_000}_${n.toString(16).padStart(6, '0')}`
  const block = (index: number, type: Block['type'], author: string, more: Partial<Block>): Block => ({
    ...{ id: `b_${4 * n + index}`, type, author, turn_id, ts },
    ...more,
  })
  const mime = 'text/markdown'
  return [
    { type: 'turn.opened', turn_id, ts },
    {
      type: 'blocks.appended',
      blocks: [
        block(1, 'turn.header', 'system', { text: '' }),
        block(2, 'user.prompt', 'user', { mime, path: `ar:${turn_id}.user.prompt`, text: textOf(n), meta: { message_id: 'm0' } }),
      ],
    },
    ...(n === 0 ? [{ type: 'title.set' as const, ts, title: 'A long conversation' }] : []),
    {
      type: 'blocks.appended',
      blocks: [
        block(3, 'react.thinking', 'react', {
          ...{ mime, path: `ar:${turn_id}.react.thinking.0`, text: 'Done.' },
          meta: { channel: 'thinking', tool_call_id: `c${n}`, iteration: 0 },
        }),
        block(4, 'assistant.completion', 'assistant', {
          ...{ mime, path: `ar:${turn_id}.assistant.completion`, text: textOf(n) },
          meta: { sources_used: [], iteration: 0 },
        }),
      ],
    },
    { type: 'turn.closed', turn_id, ts, exit_reason: 'complete', sources_used: [] },
  ]
}
