import { afterAll, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createRedisRelay } from '../../src/adapters/relay/redis.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { type Reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { pausedAnswer } from '../support/scenario-tools.ts'
import { laneText, seqs, upTo } from '../support/watch-turn.ts'

const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it.'
const isPossible = hasPostgres && hasRedis

describe.skipIf(!isPossible)('replicas with a database and Redis', async () => {
  const postgres = isPossible ? await startPostgres() : undefined
  const redis = isPossible ? await startRedis() : undefined
  const closers: (() => unknown)[] = [() => postgres?.stop(), () => redis?.stop()]
  afterAll(async () => {
    for (const close of closers.reverse()) await close()
  })

  async function open(replies: readonly Reply[] = []) {
    const clock = createSystemClock()
    const relay = createRedisRelay({ url: redis?.url ?? '', name: 'test' })
    const store = await createPostgresStore({ url: postgres?.url ?? '', clock, maxConnections: 4, relay })
    const agent = createAgentFrom({ model: scriptedModel(replies), store, clock })
    closers.push(async () => {
      await agent.close()
      await store.close()
      relay.close()
    })
    return agent
  }

  it('a follower sees the answer while it is written, goes on after Redis was lost, and gets every entry once', async () => {
    const { reply, halfway, resume } = pausedAnswer(story)
    const owner = await open([reply])
    const other = await open()
    const events: TurnEvent[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const event of other.follow('c1', { signal: stop.signal })) {
        events.push(event)
        if (event.type === 'entry' && event.change.type === 'turn.closed') stop.abort()
      }
    })()
    const run = owner.run('c1', 'Tell me.')
    await halfway
    await expect.poll(() => laneText(events, 'answer')).not.toBe('')
    await redis?.restart()
    resume()
    await run.result
    await following
    expect(seqs(events)).toEqual(upTo(seqs(events).length))
    expect(story.startsWith(laneText(events, 'answer'))).toBe(true)
  })
})
