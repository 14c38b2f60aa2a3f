import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { AgentSettings } from '../../src/agent/settings.ts'
import { blocksOfChange, type Change } from '../../src/core/timeline/change.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { Model, ModelRequest } from '../../src/ports/model.ts'
import { type ConversationStore, LEASE_MS } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { contextWithRoom } from '../support/context-size.ts'
import { type FailureSide, failingStore } from '../support/crash/failing-store.ts'
import { isTried, openTestStore } from '../support/stores.ts'

/**
 * A turn during which the process dies at any entry. The replies of the model depend only on the prompt. The action of the user happens
 * once, before a given decision. The resumed turn must end in the same way as a turn without a crash.
 */
interface ResumeCase {
  readonly reply: (prompt: string, iteration: number) => string
  readonly settings?: Partial<AgentSettings>
  /** An action of the user before the decision `at`. It is repeated with the same event id until the store has accepted it. */
  readonly userAction?: { readonly at: number; readonly run: (agent: Agent) => Promise<unknown> }
  readonly gate?: string
  /** The reply to the call for a summary. If it is set, the turn must make this call. */
  readonly summary?: string
  readonly exit: string
  readonly completions: readonly string[]
  /** An answer that may be missing at the end. The user saw it, but the process died before the answer was stored. */
  readonly mayBeLost?: string
}

const cases: Readonly<Record<string, ResumeCase>> = {
  'counts repairs': {
    reply: () => '<channel:answer>no thinking',
    exit: 'protocol_violation',
    completions: ['I could not put together'],
  },
  'takes the second text without channels as the answer': {
    reply: (_, iteration) => (iteration === 0 ? reply.call('shop.look', { shelf: 0 }) : `Text number ${iteration}.`),
    exit: 'complete',
    completions: ['Text number 2.'],
  },
  'keeps an answer that a second action followed': {
    reply: (_, iteration) => {
      if (iteration === 1) return reply.call('shop.look', { shelf: 0 })
      const complete = '<channel:action>{"action":"complete"}</channel:action>'
      return iteration === 0 ? `${reply.answer('Rome is clear.')}${complete}` : `<channel:thinking>x</channel:thinking>${complete}`
    },
    exit: 'complete',
    completions: ['Rome is clear.'],
  },
  'keeps the extra round of a followup': {
    settings: { maxRounds: 2 },
    userAction: { at: 0, run: (agent) => agent.send('c1', 'And Paris?', { eventId: 'f1' }) },
    reply: (_, iteration) => (iteration < 2 ? reply.call('shop.look', { shelf: iteration }) : reply.answer('Both are fine.')),
    exit: 'complete',
    completions: ['Both are fine.'],
  },
  'stays stopped after a stop': {
    userAction: { at: 1, run: (agent) => agent.steer('c1', '', { eventId: 's1' }) },
    reply: (_, iteration) => reply.call('shop.look', { shelf: iteration }),
    exit: 'steer',
    completions: ['I stopped as you asked.'],
  },
  'keeps counting the rounds of a wrap-up': {
    userAction: { at: 1, run: (agent) => agent.steer('c1', 'Finish up.', { mode: 'wrap_up', eventId: 's1' }) },
    reply: (prompt, iteration) =>
      prompt.includes('asked you to wrap up')
        ? reply.call('react.plan', { mode: 'new', steps: ['end'] })
        : reply.call('shop.look', { shelf: iteration }),
    exit: 'steer',
    completions: ['I stopped as you asked.'],
  },
  'keeps an answer that a followup deferred': {
    userAction: { at: 1, run: (agent) => agent.send('c1', 'And Paris?', { eventId: 'f1' }) },
    reply: (prompt, iteration) =>
      iteration === 0
        ? reply.call('shop.look', { shelf: 0 })
        : reply.answer(prompt.includes('And Paris?') ? 'Paris is grey.' : 'Rome is clear.'),
    exit: 'complete',
    completions: ['Rome is clear.', 'Paris is grey.'],
    mayBeLost: 'Rome is clear.',
  },
  'counts a failed tool call': {
    settings: { maxRounds: 40 },
    reply: (_, iteration) =>
      iteration % 3 === 2 ? '<channel:answer>no thinking' : reply.call('react.plan', { mode: 'activate', plan_id: 'nowhere' }),
    exit: 'protocol_violation',
    completions: ['I could not put together'],
  },
  'completes a compaction': {
    settings: { contextTokens: contextWithRoom(5_900), maxRounds: 20 },
    reply: (_, iteration) => (iteration < 8 ? reply.call('shop.look', { shelf: iteration, goods: 6_000 }) : reply.answer('Done.')),
    summary: 'The shelves were looked at one by one.',
    exit: 'complete',
    completions: ['Done.'],
  },
  'does not repeat a title call that returned no title': {
    gate: '<channel:thinking>Hm.</channel:thinking><channel:output>{"conversation_title":null}</channel:output>',
    reply: (_, iteration) => (iteration < 2 ? reply.call('shop.look', { shelf: iteration }) : reply.answer('Done.')),
    exit: 'complete',
    completions: ['Done.'],
  },
}

const usage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

const look = defineTool({
  id: 'shop.look',
  description: 'Looks at a shelf.',
  params: z.object({ shelf: z.number(), goods: z.number().optional() }),
  repeatable: true,
  run: ({ shelf, goods = 0 }) => ({ shelf, goods: 'salt '.repeat(goods / 5) }),
})

async function setUp(resumeCase: ResumeCase) {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
  const modelCalls: string[] = []
  let actionDone = false

  function agentOn(on: ConversationStore): Agent {
    const scripted = scriptedModel(
      Array.from({ length: 40 }, () => (request: ModelRequest) => resumeCase.reply(textOf(request), iterationOf(request)) as string),
    )
    const model: Model = {
      ...scripted,
      async *stream(request, signal) {
        const iteration = iterationOf(request)
        modelCalls.push(request.role === 'decision' ? `${iteration}` : request.role)
        const fixedReply = request.role === 'gate' ? resumeCase.gate : request.role === 'compaction' ? resumeCase.summary : undefined
        if (fixedReply !== undefined) {
          yield { type: 'text.delta', text: fixedReply }
          yield { type: 'finish', finishReason: 'stop', modelName: 'scripted', usage }
          return
        }
        if (request.role === 'decision' && iteration === resumeCase.userAction?.at && !actionDone) {
          await resumeCase.userAction.run(agent).catch(() => {}) // if the store fails, the next process repeats the action
          actionDone = await wasAccepted(store)
        }
        yield* scripted.stream(request, signal)
      },
    }
    const agent = createAgentFrom({ model, tools: [look], store: on, clock, settings: { exitGraceMs: 0, ...resumeCase.settings } })
    return agent
  }
  return { clock, store, modelCalls, agentOn }
}

const textOf = ({ parts }: ModelRequest) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

/** The round of a request, read from its announce. The wrap-up call has no number; it gets 99. */
function iterationOf(request: ModelRequest): number {
  const [, shown, wrapUp] = /Iteration (\d+)\/[^║]*?(— wrap-up)? *║/.exec(textOf(request)) ?? []
  return wrapUp === undefined ? Number(shown) - 1 : 99
}

async function journalOf(store: ConversationStore): Promise<readonly Change[]> {
  const changes: Change[] = []
  for await (const { change } of store.readJournal('c1', { after: 0 })) changes.push(change)
  return changes
}
const wasAccepted = async (store: ConversationStore) => (await journalOf(store)).some(({ type }) => type === 'event.accepted')

/** The visible state at the end. Numbers of rounds are left out, because an interrupted round may be missing. */
async function endOf(store: ConversationStore) {
  const timeline = (await store.loadVisible('c1'))?.timeline
  const journal = await journalOf(store)
  const closed = journal.find((change) => change.type === 'turn.closed')
  const blocks = timeline ? blocksOf(timeline) : []
  return {
    exit: closed?.exit_reason,
    open: timeline?.openTurn,
    compactions: journal.filter((change) => change.type === 'response.received' && change.role === 'compaction').length,
    calls: blocks.filter(({ type }) => type === 'react.tool.call').length,
    messages: blocks.filter(({ type }) => type.startsWith('user.') || type === 'react.notice').map(({ type, text }) => `${type}: ${text}`),
    completions: blocks.filter(({ type }) => type === 'assistant.completion').map(({ text }) => text),
  }
}

async function crashAndResume(resumeCase: ResumeCase, at: { readonly append: number; readonly side: FailureSide }) {
  const { clock, store, modelCalls, agentOn } = await setUp(resumeCase)
  const crashing = agentOn(failingStore(store, at)).run('c1', 'How is Rome?')
  const completed = await crashing.result.then(
    () => true,
    () => false,
  )
  const crashed = await journalOf(store)
  const responded = crashed.flatMap((change) => (change.type === 'response.received' ? [change.role ?? `${change.iteration}`] : []))
  const attempts = crashed.flatMap(blocksOfChange).flatMap(({ type, text }) => (type === 'assistant.completion.attempt' ? [text] : []))
  clock.advance(LEASE_MS + 1)
  const before = modelCalls.length
  await agentOn(store).recover()
  // a resumed turn may compact again
  const repeated = modelCalls.slice(before).filter((call) => call !== 'compaction' && responded.includes(call))
  return { completed, empty: crashed.length === 0, attempts, repeated, end: await endOf(store) }
}

describe('a resumed turn', () => {
  it.each(Object.entries(cases))('%s, whichever entry the process died at', async (_name, resumeCase) => {
    const { store, modelCalls, agentOn } = await setUp(resumeCase)
    await agentOn(store).run('c1', 'How is Rome?').result
    const expected = await endOf(store)
    expect(expected.exit).toBe(resumeCase.exit)
    expect(modelCalls.includes('compaction')).toBe(resumeCase.summary !== undefined)
    expect(expected.completions.map((text, index) => text?.slice(0, resumeCase.completions[index]?.length))).toEqual(resumeCase.completions)
    for (const side of ['before', 'after'] as const) {
      for (let append = 1; ; append++) {
        if (!isTried(append)) continue
        const { completed, empty, attempts, repeated, end } = await crashAndResume(resumeCase, { append, side })
        if (completed) break // the turn has no further append, so all appends were tried
        if (empty) continue // nothing was stored, so there is no turn to resume
        const lost = resumeCase.mayBeLost !== undefined && !attempts.includes(resumeCase.mayBeLost)
        const completions = expected.completions.filter(
          (text) => !(lost && text === resumeCase.mayBeLost && !end.completions.includes(text)),
        )
        expect({ append, side, repeated, ...end }).toEqual({ append, side, repeated: [], ...expected, completions })
      }
    }
  })
})
