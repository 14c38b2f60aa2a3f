import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { Reply } from '../../src/testing/scripted-model.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { openReplica } from '../support/replicas.ts'
import { pausedAnswer } from '../support/scenario-tools.ts'
import { followToClose, laneText, seqs, upTo } from '../support/watch-turn.ts'

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

  /** Opens a replica, which is closed after the test. */
  async function open(schema: string, replies: readonly Reply[] = []): Promise<Agent> {
    const { agent, close } = await openReplica({ url: server?.url ?? '', schema, replies })
    opened.push(close)
    return agent
  }

  it('a follower on another replica sees an answer while the model writes it, and every entry once', async () => {
    const schema = `relay_${++schemas}`
    const { reply, halfway, resume } = pausedAnswer(story)
    const owner = await open(schema, [reply])
    const other = await open(schema)
    const followed = followToClose(other, conversationId)
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
    const owner = await open(schema, [reply])
    const other = await open(schema)
    const run = owner.run(conversationId, 'Tell me.')
    await halfway
    const [early, late] = [followToClose(other, conversationId), followToClose(other, conversationId, { after: 2 })]
    await expect.poll(() => laneText(early.events, 'answer')).not.toBe('')
    await expect.poll(() => laneText(late.events, 'answer')).toBe(laneText(early.events, 'answer'))
    const latest = followToClose(other, conversationId, { after: 3 })
    await expect.poll(() => laneText(latest.events, 'answer')).toBe(laneText(early.events, 'answer'))
    resume()
    await run.result
    await Promise.all([early.ended, late.ended, latest.ended])
    for (const { events } of [early, late, latest]) expect(story.startsWith(laneText(events, 'answer'))).toBe(true)
    expect(seqs(late.events)[0]).toBe(3)
  })
})
