import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createPostgresStore } from '../src/adapters/store/postgres/store.ts'
import { createAgentFrom } from '../src/agent/agent.ts'
import type { Agent } from '../src/agent/agent-interface.ts'
import type { Model } from '../src/ports/model.ts'
import { reply } from '../src/testing/scripted-model.ts'
import { startPostgres } from '../test/support/postgres.ts'

const ROUNDS = 40
const FOLLOWERS = 1_000
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const usage = { uncached: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 }

/** A model that writes an answer in pieces. It waits `firstMs` before the first piece, and `everyMs` before each further piece. */
const writingModel = (firstMs: number, pieces: number, everyMs: number): Model => ({
  name: 'writing',
  window: 1_000_000,
  async *stream({ role }) {
    const finish = { type: 'finish', finishReason: 'stop', modelName: 'writing', usage } as const
    if (role === 'gate') {
      yield {
        type: 'text.delta',
        text: '<channel:thinking>T.</channel:thinking><channel:output>{"conversation_title":"T"}</channel:output>',
      }
      return yield finish
    }
    const text = reply.answer('word '.repeat(pieces))
    const size = Math.ceil(text.length / pieces)
    await wait(firstMs)
    for (let at = 0; at < text.length; at += size) {
      if (at > 0 && everyMs > 0) await wait(everyMs)
      yield { type: 'text.delta', text: text.slice(at, at + size) }
    }
    yield finish
  },
})

/**
 * Measures the time from the acceptance of a message until a follower sees the first piece of the answer. One follower is in the process
 * that runs the turn, and one is in another process. After that, many followers in one process follow an answer that another process
 * produces. The memory of the followers' process at the end of the answer is compared with its memory at the beginning.
 */
export async function bench(): Promise<void> {
  const postgres = await startPostgres()
  const closers: (() => Promise<void>)[] = []
  const open = async (model: Model): Promise<Agent> => {
    const clock = createSystemClock()
    const store = await createPostgresStore({ url: postgres.url, clock })
    const agent = createAgentFrom({ model, store, clock })
    closers.push(async () => {
      await agent.close()
      await store.close()
    })
    return agent
  }
  try {
    const quick = writingModel(20, 20, 5)
    const owner = await open(quick)
    const other = await open(quick)
    const here = await firstPieces(owner, owner, 'here')
    const there = await firstPieces(owner, other, 'there')
    console.log(`first piece of an answer, median of ${ROUNDS}: same process ${here.toFixed(1)} ms, another process ${there.toFixed(1)} ms`)
    console.log(`  ratio ${(there / here).toFixed(2)} (at most 3)`)
    await manyFollowers(await open(writingModel(200, 300, 100)), other)
  } finally {
    for (const close of closers.reverse()) await close()
    await postgres.stop()
  }
}

/** The median time from the acceptance of a message to the first piece of its answer, measured by a follower in the process of `reader`. */
async function firstPieces(owner: Agent, reader: Agent, name: string): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const conversationId = `${name}-${round}`
    const stop = new AbortController()
    const seen = (async () => {
      for await (const event of reader.follow(conversationId, { signal: stop.signal })) {
        if (event.type === 'lane.delta' && event.delta.marker === 'answer' && event.delta.text !== '') return performance.now()
      }
      return Number.NaN
    })()
    await wait(30)
    await owner.send(conversationId, 'Hello.')
    const accepted = performance.now()
    times.push((await seen) - accepted)
    stop.abort()
    while ([...owner.running].includes(conversationId)) await wait(5)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] as number
}

async function manyFollowers(owner: Agent, reader: Agent): Promise<void> {
  const stop = new AbortController()
  let pieces = 0
  const following = Array.from({ length: FOLLOWERS }, async () => {
    for await (const event of reader.follow('many', { signal: stop.signal })) if (event.type === 'lane.delta') pieces++
  })
  await wait(500)
  const run = owner.run('many', 'Tell me.')
  await wait(5_000)
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  await wait(20_000)
  globalThis.gc?.()
  const after = process.memoryUsage().heapUsed
  const megabytes = (bytes: number) => (bytes / 1024 / 1024).toFixed(1)
  console.log(`${FOLLOWERS} followers of an answer in another process, 10 pieces/s: ${pieces} pieces delivered after 25 s`)
  console.log(`  heap ${megabytes(before)} MB after 5 s, ${megabytes(after)} MB after 25 s`)
  stop.abort()
  await Promise.all(following)
  await run.result
}
