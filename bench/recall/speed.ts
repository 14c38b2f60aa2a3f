import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { completionBlock, type Draft, userPromptBlock } from '../../src/core/block/index.ts'
import type { MemoryIndex } from '../../src/ports/store/memory-index.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { appended, closed, opened } from '../../src/testing/conformance/store/fixture.ts'
import { median, report } from '../measure.ts'
import { createRandom } from './random.ts'

const open = (folder: string, name: string) =>
  createSqliteStore({ file: join(folder, `${name}.db`), blobs: createMemoryBlobs(), clock: createSystemClock() })

export const me = { id: 'bench', host: 'here', pid: process.pid }
export const everything = ['assistant', 'user', 'attachment', 'summary', 'notes'] as const

export function memoryOf({ memory }: ConversationStore): MemoryIndex {
  if (!memory) throw new TypeError('the store has no memory index')
  return memory
}

/** A word made of letters, different for each number. */
const wordOf = (number: number): string =>
  [...number.toString(13)].map((digit) => 'ba ce di fo gu ha je ki lo mu na pe ri'.split(' ')[Number.parseInt(digit, 13)]).join('')

/** English words. For a question with an English word, the search also looks for words of nearly the same meaning. */
const englishWords = (): readonly string[] => {
  const text = readFileSync(join(import.meta.dirname, 'chats.txt'), 'utf8').toLowerCase()
  return [...new Set(text.match(/[a-z]{3,}/g))]
}

/** Words whose frequencies fall as in natural texts. Some of them are English. */
export function createVocabulary() {
  const cumulated: number[] = []
  let sum = 0
  for (let n = 0; n < 30_000; n++) {
    sum += 1 / (n + 20)
    cumulated.push(sum)
  }
  const random = createRandom(7)
  const english = englishWords()
  return () => {
    const wanted = random.next() * sum
    let [low, high] = [0, cumulated.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cumulated[middle] as number) < wanted) low = middle + 1
      else high = middle
    }
    return (low % 8 === 3 ? english[low >> 3] : undefined) ?? wordOf((low * 7_919) % 1_000_003)
  }
}

export const SEARCHES = 300

/** The time of a search in 100,000 snippets of one user, with questions of 4 and 8 words, and with questions for advice. */
export async function benchSpeed(folder: string): Promise<void> {
  const store = await open(folder, 'speed')
  const word = createVocabulary()
  const text = (words: number) => Array.from({ length: words }, word).join(' ')
  for (let conversation = 0; conversation < 500; conversation++) {
    const claim = await store.claim(`c${conversation}`, me)
    const turns = Array.from({ length: 100 }, (_, n) => `t${n}`)
    await store.append(
      claim,
      turns.flatMap((turnId, n) => [
        opened(turnId),
        appended(
          [userPromptBlock(turnId, dateOf(conversation), text(20)), completionBlock(turnId, dateOf(conversation), { text: text(40) })],
          2 * n + 1,
        ),
        closed(turnId),
      ]),
    )
    await store.release(claim)
  }
  const memory = memoryOf(store)
  await memory.catchUp()
  const english = englishWords()
  const random = createRandom(9)
  const questions = {
    '4 words': () => text(4),
    '8 words': () => text(8),
    advice: () => `Any ideas for ${random.some(english, 4).join(' ')}?`,
  }
  for (const [kind, makeQuestion] of Object.entries(questions)) {
    const [wall, cpu]: [number[], number[]] = [[], []]
    for (let n = 0; n < SEARCHES; n++) {
      const question = makeQuestion()
      const [started, before] = [performance.now(), process.cpuUsage()]
      await memory.search(question, {
        within: { user: { tenant: 'local', project: 'default', user: 'local' } },
        targets: everything,
        now: dateOf(500),
        limit: 10,
        perConversation: 2,
      })
      wall.push(performance.now() - started)
      const { user, system } = process.cpuUsage(before)
      cpu.push((user + system) / 1_000)
    }
    const p95 = percentile(wall, 0.95)
    console.log(
      `  a search (${kind}) in 100,000 snippets: p50 ${median(wall).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms  (budget 10)  ${p95 <= 10 ? 'ok' : 'OVER'}`,
    )
    console.log(`    time of the processor, all threads: p50 ${median(cpu).toFixed(1)} ms, p95 ${percentile(cpu, 0.95).toFixed(1)} ms`)
  }
  await store.close()
}

export const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN

export const dateOf = (n: number): string => new Date(Date.UTC(2025, 0, 1) + n * 3_600_000).toISOString()

/**
 * Compares the commits of turns whose texts are indexed with commits of turns whose texts are not. The two kinds alternate, so that other
 * load affects both. Texts are indexed after the commits, so the ratio shows only whether the commits themselves take longer. The next
 * printed line shows how long the indexing itself takes.
 */
export async function benchAppends(folder: string): Promise<void> {
  const store = await open(folder, 'appends')
  const word = createVocabulary()
  const text = (words: number) => Array.from({ length: words }, word).join(' ')
  const times = { indexed: [] as number[], plain: [] as number[] }
  const claims = { indexed: await store.claim('c1', me), plain: await store.claim('c2', me) }
  for (let n = 0; n < 150; n++) {
    for (const kind of ['indexed', 'plain'] as const) {
      const turnId = `t${n}`
      const [asked, answered] = [userPromptBlock(turnId, dateOf(n), text(30)), completionBlock(turnId, dateOf(n), { text: text(120) })]
      // blocks of this other type are stored in the same way, but their texts are not indexed
      const stored = (draft: Draft): Draft => (kind === 'indexed' ? draft : { ...draft, type: 'react.notes' })
      const round = (number: number) => appended([{ ...answered, type: 'react.notes', text: text(200) }], 10 * n + number)
      const commits = [
        [opened(turnId), appended([stored(asked)], 10 * n + 1)],
        ...[2, 3, 4, 5].map((number) => [round(number)]),
        [appended([stored(answered)], 10 * n + 9), closed(turnId)],
      ]
      const started = performance.now()
      for (const changes of commits) await store.append(claims[kind], changes)
      times[kind].push(performance.now() - started)
    }
  }
  report('the commits of a turn of two rounds, with indexing', median(times.indexed) / median(times.plain), 1.1, 'without')
  const started = performance.now()
  const turns = 100
  const claim = await store.claim('c3', me)
  for (let n = 0; n < turns; n++)
    await store.append(claim, [
      opened(`t${n}`),
      appended([completionBlock(`t${n}`, dateOf(n), { text: text(150) })], n + 1),
      closed(`t${n}`),
    ])
  const appendedAt = performance.now()
  await memoryOf(store).catchUp()
  console.log(
    `  indexing after the commits: ${((performance.now() - appendedAt) / turns).toFixed(2)} ms per turn, a commit takes ${((appendedAt - started) / turns).toFixed(2)} ms`,
  )
  await store.close()
}
