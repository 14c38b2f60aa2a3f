import { afterAll, describe, expect, it } from 'vitest'
import { createRedisRelay } from '../../src/adapters/relay/redis.ts'
import type { Reply } from '../../src/testing/scripted-model.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { openReplica } from '../support/replicas.ts'
import { pausedAnswer } from '../support/scenario-tools.ts'
import { followToClose, laneText, seqs, upTo } from '../support/watch-turn.ts'

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
    const relay = createRedisRelay({ url: redis?.url ?? '', name: 'test' })
    const { agent, close } = await openReplica({ url: postgres?.url ?? '', replies, relay })
    closers.push(relay.close, close)
    return agent
  }

  it('a follower sees the answer while it is written, goes on after Redis was lost, and gets every entry once', async () => {
    const { reply, halfway, resume } = pausedAnswer(story)
    const owner = await open([reply])
    const other = await open()
    const { events, ended } = followToClose(other, 'c1')
    const run = owner.run('c1', 'Tell me.')
    await halfway
    await expect.poll(() => laneText(events, 'answer')).not.toBe('')
    await redis?.restart()
    resume()
    await run.result
    await ended
    expect(seqs(events)).toEqual(upTo(seqs(events).length))
    expect(story.startsWith(laneText(events, 'answer'))).toBe(true)
  })
})
