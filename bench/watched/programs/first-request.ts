// How long a turn takes from the call of `run` to the first request of the model, in a conversation with many messages.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent, openStore } from 'daybook'
import { argumentsOf, bestTime, give, namedTimes, readAll, startTime, type Time, timeSince } from './measured.ts'
import { seed } from './seed.ts'
import { addTool, handWritten, type Message, settings, steadyModel } from './steady-model.ts'

const SAMPLES = 8
const ROUNDS = 12
const { of, messages, folder } = argumentsOf<{ of: 'daybook' | 'floor'; messages: number; folder: string }>()
const file = join(folder, 'messages.jsonl')

const requests: Time[] = []
let started = startTime()
const model = steadyModel({ rounds: ROUNDS, onRequest: () => void requests.push(timeSince(started)) })
const openAgent = async (store: 'memory' | 'sqlite') => {
  const opened = await openStore({ data: join(folder, 'data'), store })
  return { store: opened, agent: createAgent({ model, tools: [addTool], settings, store: opened }) }
}

/** The time to the first request, and the median of the times between two requests. */
async function turn(run: () => Promise<unknown>): Promise<{ readonly first: Time; readonly next: Time }> {
  requests.length = 0
  started = startTime()
  await run()
  const [first, last] = [requests[0], requests.at(-1)] as [Time, Time] // a turn has several requests
  const gaps = requests.slice(1).map(({ ms }, n) => ms - (requests[n] as Time).ms)
  const next = { ms: gaps.toSorted((a, b) => a - b)[gaps.length >> 1] as number, cpu: (last.cpu - first.cpu) / gaps.length }
  return { first, next }
}

/**
 * The conversations of the samples. A turn adds 25 messages, so in short conversations each sample has a conversation of its own. Long ones
 * grow too little to matter.
 */
const sampled = Array.from({ length: SAMPLES }, (_, n) => (messages <= 1_000 ? `sample${n}` : 'sample'))

async function seedSamples(store: Parameters<typeof seed>[0]): Promise<void> {
  for (const conversation of new Set(sampled)) await seed(store, conversation, messages)
}

/** The conversation is in memory, and the same agent ran its last turn. */
async function inMemory() {
  const { store, agent } = await openAgent('memory')
  await seed(store, 'c', messages)
  await seedSamples(store)
  const turns = []
  for (let n = 0; n < SAMPLES; n++) turns.push(await turn(() => readAll(agent.run('c', 'Add up.'))))
  const loaded = []
  for (const conversation of sampled) {
    const another = createAgent({ model, tools: [addTool], settings, store })
    loaded.push(await turn(() => readAll(another.run(conversation, 'Add up.'))))
    await another.close()
  }
  await agent.close()
  return {
    memory: bestTime(turns.slice(1).map(({ first }) => first)),
    next: bestTime(turns.slice(1).map(({ next }) => next)),
    memoryLoaded: bestTime(loaded.map(({ first }) => first)),
  }
}

/** The conversation is in a file of SQLite, which is opened before the time begins. */
async function fromDisk() {
  const seeded = await openAgent('sqlite')
  await seedSamples(seeded.store)
  await seed(seeded.store, 'other', 20)
  await seeded.agent.close()
  await seeded.store.close()
  const turns = []
  for (const conversation of sampled) {
    const { store, agent } = await openAgent('sqlite')
    await readAll(agent.run('other', 'Add up.')) // warm-up of the process and the connection
    turns.push(await turn(() => readAll(agent.run(conversation, 'Add up.'))))
    await agent.close()
    await store.close()
  }
  return { disk: bestTime(turns.map(({ first }) => first)) }
}

/** The floor, without Daybook: it stores one line of JSON for each message. */
async function byHand() {
  const list = Array.from({ length: messages }, (_, n): Message => ({ role: n % 2 ? 'assistant' : 'user', text: 'and so on '.repeat(30) }))
  writeFileSync(file, list.map((message) => JSON.stringify(message)).join('\n'))
  const turns = []
  for (let n = 0; n < SAMPLES; n++) {
    turns.push(
      await turn(() => {
        const lines = readFileSync(file, 'utf8').split('\n')
        return readAll(
          handWritten(
            model,
            'c',
            lines.map((line) => JSON.parse(line)),
          ),
        )
      }),
    )
  }
  return { disk: bestTime(turns.map(({ first }) => first)), next: bestTime(turns.map(({ next }) => next)) }
}

give(namedTimes(of === 'floor' ? await byHand() : { ...(await inMemory()), ...(await fromDisk()) }))
