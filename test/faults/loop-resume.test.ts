import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { type Agent, createAgentFrom } from '../../src/agent/agent.ts'
import type { AgentSettings } from '../../src/agent/settings.ts'
import { blocksOfChange, type Change } from '../../src/core/timeline/change.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { Model, ModelRequest } from '../../src/ports/model.ts'
import { type ConversationStore, LEASE_MS } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { answers, calls, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { contextWithRoom } from '../support/context-room.ts'
import { type FailureSide, failingStore } from '../support/crash/breaking-store.ts'

/**
 * Stories that a process can die in, anywhere. What the model says depends on what it reads; what the user does is done once, at a
 * given question to the model. Whoever takes the turn up must bring it to the same end.
 */
interface Story {
  readonly says: (prompt: string, iteration: number) => string
  readonly settings?: Partial<AgentSettings>
  /** Before the model answers its nth decision. Said again, under the same id, until it was accepted. */
  readonly happens?: { readonly at: number; readonly what: (agent: Agent) => Promise<unknown> }
  readonly gate?: string
  /** What the model says when it is asked to fold what is old. It must be asked in this story. */
  readonly summary?: string
  readonly exit: string
  readonly completions: readonly string[]
  /** Was on the screen when the process died, and never in the journal. */
  readonly mayBeLost?: string
}

const stories: Readonly<Record<string, Story>> = {
  'repairs are counted': {
    says: () => 'no channels at all',
    exit: 'protocol_violation',
    completions: ['I could not put together'],
  },
  'a followup pays for its answer': {
    settings: { maxRounds: 2 },
    happens: { at: 0, what: (agent) => agent.followUp('c1', 'And Paris?', { eventId: 'f1' }) },
    says: (_, iteration) => (iteration < 2 ? calls('shop.look', { shelf: iteration }) : answers('Both are fine.')),
    exit: 'complete',
    completions: ['Both are fine.'],
  },
  'a stop stays a stop': {
    happens: { at: 1, what: (agent) => agent.steer('c1', '', { eventId: 's1' }) },
    says: (_, iteration) => calls('shop.look', { shelf: iteration }),
    exit: 'steer',
    completions: ['I stopped as you asked.'],
  },
  'a wrap-up keeps counting': {
    happens: { at: 1, what: (agent) => agent.steer('c1', 'Finish up.', { mode: 'wrap_up', eventId: 's1' }) },
    says: (prompt, iteration) =>
      prompt.includes('asked you to wrap up')
        ? calls('react.plan', { mode: 'new', steps: ['end'] })
        : calls('shop.look', { shelf: iteration }),
    exit: 'steer',
    completions: ['I stopped as you asked.'],
  },
  'an answer that was not the last word is still said': {
    happens: { at: 1, what: (agent) => agent.followUp('c1', 'And Paris?', { eventId: 'f1' }) },
    says: (prompt, iteration) =>
      iteration === 0 ? calls('shop.look', { shelf: 0 }) : answers(prompt.includes('And Paris?') ? 'Paris is grey.' : 'Rome is clear.'),
    exit: 'complete',
    completions: ['Rome is clear.', 'Paris is grey.'],
    mayBeLost: 'Rome is clear.',
  },
  'a tool that refuses is counted': {
    settings: { maxRounds: 40 },
    says: (_, iteration) => (iteration % 3 === 2 ? 'no channels at all' : calls('react.plan', { mode: 'activate', plan_id: 'nowhere' })),
    exit: 'protocol_violation',
    completions: ['I could not put together'],
  },
  'a compaction is not half done': {
    settings: { contextTokens: contextWithRoom(9_478), maxRounds: 20 },
    says: (_, iteration) => (iteration < 8 ? calls('shop.look', { shelf: iteration, goods: 6_000 }) : answers('Done.')),
    summary: 'The shelves were looked at one by one.',
    exit: 'complete',
    completions: ['Done.'],
  },
  'a gate that gave no title is not asked again': {
    gate: '<channel:thinking>Hm.</channel:thinking><channel:output>{"conversation_title":null}</channel:output>',
    says: (_, iteration) => (iteration < 2 ? calls('shop.look', { shelf: iteration }) : answers('Done.')),
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

function setUp(story: Story) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const asked: string[] = []
  let happened = false

  function agentOn(on: ConversationStore): Agent {
    const scripted = scriptedModel(
      Array.from({ length: 40 }, () => (request: ModelRequest) => story.says(textOf(request), iterationOf(request)) as string),
    )
    const model: Model = {
      ...scripted,
      async *stream(request, signal) {
        const iteration = iterationOf(request)
        asked.push(request.role === 'decision' ? `${iteration}` : request.role)
        const aside = request.role === 'gate' ? story.gate : request.role === 'compaction' ? story.summary : undefined
        if (aside !== undefined) {
          yield { type: 'text.delta', text: aside }
          yield { type: 'finish', finishReason: 'stop', modelName: 'scripted', usage }
          return
        }
        if (request.role === 'decision' && iteration === story.happens?.at && !happened) {
          await story.happens.what(agent).catch(() => {}) // the store broke: said again to the next process, unless it was heard
          happened = await wasAccepted(store)
        }
        yield* scripted.stream(request, signal)
      },
    }
    const agent = createAgentFrom({ model, tools: [look], store: on, clock, settings: { exitGraceMs: 0, ...story.settings } })
    return agent
  }
  return { clock, store, asked, agentOn }
}

const textOf = ({ parts }: ModelRequest) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

/** The call after the last round has no number of its own. */
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

/** What the user and the model can see of it in the end. An interrupted round may be missing: numbers are not compared. */
async function endOf(store: ConversationStore) {
  const timeline = (await store.loadVisible('c1'))?.timeline
  const journal = await journalOf(store)
  const closed = journal.find((change) => change.type === 'turn.closed')
  const blocks = timeline ? blocksOf(timeline) : []
  return {
    exit: closed?.exit_reason,
    open: timeline?.openTurn,
    foldings: journal.filter((change) => change.type === 'response.received' && change.role === 'compaction').length,
    calls: blocks.filter(({ type }) => type === 'react.tool.call').length,
    said: blocks.filter(({ type }) => type.startsWith('user.') || type === 'react.notice').map(({ type, text }) => `${type}: ${text}`),
    completions: blocks.filter(({ type }) => type === 'assistant.completion').map(({ text }) => text),
  }
}

async function die(story: Story, at: { readonly append: number; readonly side: FailureSide }) {
  const { clock, store, asked, agentOn } = setUp(story)
  const dying = agentOn(failingStore(store, at)).run({ conversation: 'c1', input: 'How is Rome?' })
  const survived = await dying.result.then(
    () => true,
    () => false,
  )
  const left = await journalOf(store)
  const heard = left.flatMap((change) => (change.type === 'response.received' ? [change.role ?? `${change.iteration}`] : []))
  const said = left.flatMap(blocksOfChange).flatMap(({ type, text }) => (type === 'assistant.completion.attempt' ? [text] : []))
  clock.advance(LEASE_MS + 1)
  const before = asked.length
  await agentOn(store).recover()
  const again = asked.slice(before).filter((question) => question !== 'compaction' && heard.includes(question)) // that may be due again
  return { survived, empty: left.length === 0, said, again, end: await endOf(store) }
}

describe('a turn that is taken up', () => {
  it.each(Object.entries(stories))('%s, wherever the process died', async (_name, story) => {
    const { store, asked, agentOn } = setUp(story)
    await agentOn(store).run({ conversation: 'c1', input: 'How is Rome?' }).result
    const expected = await endOf(store)
    expect(expected.exit).toBe(story.exit)
    expect(asked.includes('compaction')).toBe(story.summary !== undefined)
    expect(expected.completions.map((text, index) => text?.slice(0, story.completions[index]?.length))).toEqual(story.completions)
    for (const side of ['before', 'behind'] as const) {
      for (let append = 1; ; append++) {
        const { survived, empty, said, again, end } = await die(story, { append, side })
        if (survived) break // there is no such entry: every one was tried
        if (empty) continue // nothing was entered, so there is nothing to take up
        const lost = story.mayBeLost !== undefined && !said.includes(story.mayBeLost)
        const completions = expected.completions.filter((text) => !(lost && text === story.mayBeLost && !end.completions.includes(text)))
        expect({ append, side, again, ...end }).toEqual({ append, side, again: [], ...expected, completions })
      }
    }
  })
})
