import { describe, expect, it } from 'vitest'
import { failingStore } from '../../../test/support/crash/failing-store.ts'
import { answering, runTurnWith, stopTurn } from '../../../test/support/watch-turn.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { LEASE_MS } from '../../ports/store.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply, type ScriptedReply } from '../../testing/scripted-model.ts'

const unfinished: ScriptedReply = { text: reply.answer('Rome is').replace('</channel:answer>', ''), stall: true }

/** What the conversation shows: the messages of the user and the answers, in order. */
async function dialogOf(harness: Harness): Promise<readonly string[]> {
  const blocks = blocksOf(await harness.timeline())
  return blocks.flatMap(({ type, text = '' }) => {
    if (type === 'assistant.completion') return [`answer: ${text}`]
    return type === 'user.prompt' || type === 'user.followup' ? [`user: ${text}`] : []
  })
}

/** Stops a turn in a process that dies at the given append, and resumes it in the next process. Undefined if the process does not die. */
async function stopAndDie(append: number, side: 'before' | 'after', more: { readonly early?: string; readonly late?: string }) {
  const { store, clock } = createHarness({ replies: [] })
  const first = createHarness({ replies: [unfinished], store: failingStore(store, { append, side }), clock })
  const act = async (harness: Harness) => {
    await stopTurn(harness)
    if (more.early !== undefined) await harness.agent.send('c1', more.early)
  }
  const died = await runTurnWith(first, 'Rome?', { when: answering, act }).then(
    () => false,
    () => true,
  )
  const next = createHarness({ replies: [reply.answer('It is large.')], store, clock })
  const journal = await next.journal()
  const isClosed = journal.some(({ type }) => type === 'turn.closed')
  const wasInterrupted = journal.some((change) => change.type === 'response.received' && change.finish_reason === 'interrupted')
  if (!died || !wasInterrupted || isClosed) return undefined
  const accepted = journal.filter((change) => change.type === 'event.accepted' && change.event.text !== '').length
  clock.advance(LEASE_MS + 1)
  if (more.late !== undefined) await next.agent.send('c1', more.late)
  else await next.agent.recover()
  await next.agent.drain(10_000)
  return { dialog: await dialogOf(next), accepted, inbox: (await next.timeline()).inbox }
}

const answered = ['user: Rome?', 'answer: Rome is', 'user: And its size?', 'answer: It is large.']

describe('a message after a stop starts a turn of its own', () => {
  it.each<[string, { readonly early?: string; readonly late?: string }]>([
    ['in the process that dies', { early: 'And its size?' }],
    ['in the next process', { late: 'And its size?' }],
  ])('wherever the process dies: %s', async (_, more) => {
    let resumed = 0
    for (let append = 1; append <= 9; append++) {
      for (const side of ['before', 'after'] as const) {
        const found = await stopAndDie(append, side, more)
        if (!found || (more.early !== undefined && found.accepted === 0)) continue
        resumed++
        expect(found.dialog, `${side} ${append}`).toEqual(answered)
        expect(found.inbox).toEqual([])
      }
    }
    expect(resumed).toBeGreaterThan(2)
  })
})
