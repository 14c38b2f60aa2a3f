import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { type Reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { pausedAnswer } from '../support/scenario-tools.ts'
import { laneText, seqs, upTo } from '../support/watch-turn.ts'

const conversationId = 'c1'
const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it.'

describe.skipIf(!hasPostgres)('replicas that share a database', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const opened: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close()
  })
  afterAll(() => server?.stop())
  let schemas = 0

  /** Opens an agent with connections of its own, as a process would. */
  async function openReplica(schema: string, replies: readonly Reply[] = []): Promise<Agent> {
    const clock = createSystemClock()
    const store = await createPostgresStore({ url: server?.url ?? '', schema, clock, maxConnections: 4 })
    const agent = createAgentFrom({ model: scriptedModel(replies), store, clock })
    opened.push(async () => {
      await agent.close()
      await store.close()
    })
    return agent
  }

  /** Follows the conversation until a turn is closed. Returns the growing list of events. */
  function followToClose(agent: Agent, after = 0) {
    const events: TurnEvent[] = []
    const stop = new AbortController()
    const ended = (async () => {
      for await (const event of agent.follow(conversationId, { after, signal: stop.signal })) {
        events.push(event)
        if (event.type === 'entry' && event.change.type === 'turn.closed') stop.abort()
      }
    })()
    return { events, ended }
  }

  it('a follower on another replica sees an answer while the model writes it, and every entry once', async () => {
    const schema = `relay_${++schemas}`
    const { reply, halfway, resume } = pausedAnswer(story)
    const owner = await openReplica(schema, [reply])
    const other = await openReplica(schema)
    const followed = followToClose(other)
    const run = owner.run(conversationId, 'Tell me.')
    await halfway
    await expect.poll(() => laneText(followed.events, 'answer')).not.toBe('')
    expect(story.startsWith(laneText(followed.events, 'answer'))).toBe(true)
    resume()
    await run.result
    await followed.ended
    expect(seqs(followed.events)).toEqual(upTo(seqs(followed.events).length))
    expect(story.startsWith(laneText(followed.events, 'answer'))).toBe(true) // the entry may come before the last pieces
  })

  it('followers that join in the middle of an answer on another replica get its beginning', async () => {
    const schema = `relay_${++schemas}`
    const { reply, halfway, resume } = pausedAnswer(story)
    const owner = await openReplica(schema, [reply])
    const other = await openReplica(schema)
    const run = owner.run(conversationId, 'Tell me.')
    await halfway
    const [early, late] = [followToClose(other), followToClose(other, 2)]
    await expect.poll(() => laneText(early.events, 'answer')).not.toBe('')
    await expect.poll(() => laneText(late.events, 'answer')).toBe(laneText(early.events, 'answer'))
    const latest = followToClose(other, 3)
    await expect.poll(() => laneText(latest.events, 'answer')).toBe(laneText(early.events, 'answer'))
    resume()
    await run.result
    await Promise.all([early.ended, late.ended, latest.ended])
    for (const { events } of [early, late, latest]) expect(story.startsWith(laneText(events, 'answer'))).toBe(true)
    expect(seqs(late.events)[0]).toBe(3)
  })
})
