import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryBlobs } from '../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createMemoryStore } from '../src/adapters/store/memory/store.ts'
import { createSqliteStore } from '../src/adapters/store/sqlite/store.ts'
import { completionBlock, type Draft, userPromptBlock } from '../src/core/block/index.ts'
import type { Change } from '../src/core/timeline/change.ts'
import type { MemoryFilter, MemoryIndex } from '../src/ports/memory-index.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { appended, closed, opened } from '../src/testing/conformance/store-fixture.ts'
import { median, report } from './measure.ts'
import { type RecallQuestion, type RecallSample, readRecallFile } from './recall-data.ts'
import { syntheticSamples } from './recall-synthetic.ts'

/**
 * Measures what a memory search finds, how long it takes, and what the index costs an append. `RECALL_DATA` names files in the shape of
 * LoCoMo or LongMemEval-S, with commas between them. Without it, synthetic conversations are searched.
 */
export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-recall-'))
  try {
    const files = (process.env.RECALL_DATA ?? '').split(',').filter((file) => file !== '')
    if (files.length === 0) await benchRecall('synthetic', syntheticSamples(8))
    for (const file of files) await benchRecall(file, readRecallFile(file))
    await benchSpeed(folder)
    await benchAppends(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const open = (folder: string, name: string) =>
  createSqliteStore({ file: join(folder, `${name}.db`), blobs: createMemoryBlobs(), clock: createSystemClock() })

const me = { id: 'bench', host: 'here', pid: process.pid }
const everything = ['assistant', 'user', 'attachment', 'summary', 'notes'] as const

function memoryOf({ memory }: ConversationStore): MemoryIndex {
  if (!memory) throw new TypeError('the store has no memory index')
  return memory
}

/** Stores each session as a conversation of one user, and each of its turns as a turn. */
async function storeSample(store: ConversationStore, sample: RecallSample, user: string): Promise<void> {
  for (const { id, date, turns } of sample.sessions) {
    const claim = await store.claim(`bench/recall/${user}/${encodeURIComponent(id)}`, me)
    const speakers = [...new Set(turns.map(({ speaker }) => speaker))]
    const changes = turns.flatMap(({ id: turnId, speaker, text }, n): readonly Change[] => {
      const make = speakers.indexOf(speaker) === 0 ? userPromptBlock(turnId, date, text) : completionBlock(turnId, date, { text })
      return [opened(turnId), appended([make], n + 1), closed(turnId)]
    })
    await store.append(claim, changes)
    await store.release(claim)
  }
}

const measures = ['session all@5', 'session any@5', 'turn all@10', 'turn any@10', 'multi-hop all@5', 'multi-hop any@5'] as const
type Results = Record<(typeof measures)[number], number[]>

const emptyResults = () => Object.fromEntries(measures.map((measure) => [measure, []])) as unknown as Results

async function benchRecall(name: string, samples: readonly RecallSample[]): Promise<void> {
  const [ours, plain] = [emptyResults(), emptyResults()]
  for (const [index, sample] of samples.entries()) {
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() }) // both stores search with the same code
    const user = `u${index}`
    await storeSample(store, sample, user)
    const filter: MemoryFilter = {
      within: { user: { tenant: 'bench', project: 'recall', user } },
      targets: everything,
      now:
        sample.sessions
          .map(({ date }) => date)
          .sort()
          .at(-1) ?? '',
      limit: 200,
    }
    const baseline = plainBm25(sample)
    for (const question of sample.questions) {
      const matches = await memoryOf(store).search(question.text, filter)
      const found = matches.map(({ conversationId, turnId }) => ({
        session: decodeURIComponent(conversationId.split('/')[3] ?? ''),
        turn: turnId,
      }))
      record(ours, question, found)
      record(plain, question, baseline(question.text))
    }
    await store.close()
  }
  console.log(`  ${name}: ${ours['session any@5'].length} questions, ${ours['multi-hop all@5'].length} of them multi-hop`)
  const percent = (values: readonly number[]) =>
    values.length === 0 ? '    –' : ((100 * values.reduce((sum, value) => sum + value, 0)) / values.length).toFixed(1).padStart(5)
  for (const measure of measures) console.log(`  ${measure.padEnd(18)} ${percent(ours[measure])}   plain BM25 ${percent(plain[measure])}`)
}

/** Notes whether the sessions and turns of a question were found. `found` is the list of turns, best first. */
function record(results: Results, question: RecallQuestion, found: readonly { readonly session: string; readonly turn: string }[]): void {
  const sessions = new Set([...new Set(found.map(({ session }) => session))].slice(0, 5))
  const turns = new Set(found.slice(0, 10).map(({ turn }) => turn))
  const all = Number(question.sessions.every((id) => sessions.has(id)))
  results['session all@5'].push(all)
  const any = Number(question.sessions.some((id) => sessions.has(id)))
  results['session any@5'].push(any)
  if (question.turns.length > 0) {
    results['turn all@10'].push(Number(question.turns.every((id) => turns.has(id))))
    results['turn any@10'].push(Number(question.turns.some((id) => turns.has(id))))
  }
  if (!question.multiHop) return
  results['multi-hop all@5'].push(all)
  results['multi-hop any@5'].push(any)
}

/** BM25 over the turns with lower-case words as terms. */
function plainBm25({ sessions }: RecallSample) {
  const split = (text: string) =>
    text
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter((word) => word !== '')
  const documents = sessions.flatMap(({ id, turns }) => turns.map((turn) => ({ session: id, turn: turn.id, words: split(turn.text) })))
  const average = documents.reduce((sum, { words }) => sum + words.length, 0) / documents.length
  const frequency = new Map<string, number>()
  for (const { words } of documents) for (const word of new Set(words)) frequency.set(word, (frequency.get(word) ?? 0) + 1)
  return (question: string) =>
    documents
      .map(({ session, turn, words }) => {
        const score = split(question).reduce((sum, word) => {
          const count = words.filter((each) => each === word).length
          const having = frequency.get(word) ?? 0
          const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
          return sum + (rarity * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / average))
        }, 0)
        return { session, turn, score }
      })
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
}

/** A word of letters for each number. */
const wordOf = (number: number): string =>
  [...number.toString(13)].map((digit) => 'ba ce di fo gu ha je ki lo mu na pe ri'.split(' ')[Number.parseInt(digit, 13)]).join('')

/** Words whose frequencies fall as in natural texts. */
function createVocabulary() {
  const cumulated: number[] = []
  let sum = 0
  for (let n = 0; n < 30_000; n++) {
    sum += 1 / (n + 20)
    cumulated.push(sum)
  }
  let state = 7
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x7fffffff
  }
  return () => {
    const wanted = random() * sum
    let [low, high] = [0, cumulated.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((cumulated[middle] as number) < wanted) low = middle + 1
      else high = middle
    }
    return wordOf((low * 7_919) % 1_000_003)
  }
}

/** The time of a search in 100,000 snippets of one user, with questions of 4 and 8 words. */
async function benchSpeed(folder: string): Promise<void> {
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
  for (const words of [4, 8]) {
    const times: number[] = []
    for (let n = 0; n < 200; n++) {
      const question = text(words)
      const started = performance.now()
      await memory.search(question, {
        within: { user: { tenant: 'local', project: 'default', user: 'local' } },
        targets: everything,
        now: dateOf(500),
        limit: 10,
        perConversation: 2,
      })
      times.push(performance.now() - started)
    }
    const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN
    console.log(
      `  a search with ${words} words in 100,000 snippets: median ${median(times).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms  (budget 10)  ${p95 <= 10 ? 'ok' : 'OVER'}`,
    )
  }
  await store.close()
}

const dateOf = (n: number): string => new Date(Date.UTC(2025, 0, 1) + n * 3_600_000).toISOString()

/**
 * Compares the commits of turns with and without texts that are indexed. The two alternate, so that other load affects both. Texts are indexed
 * after the commits, so the ratio shows only that no commit has become longer. The line after it shows what the indexing itself takes.
 */
async function benchAppends(folder: string): Promise<void> {
  const store = await open(folder, 'appends')
  const word = createVocabulary()
  const text = (words: number) => Array.from({ length: words }, word).join(' ')
  const times = { indexed: [] as number[], plain: [] as number[] }
  const claims = { indexed: await store.claim('c1', me), plain: await store.claim('c2', me) }
  for (let n = 0; n < 150; n++) {
    for (const kind of ['indexed', 'plain'] as const) {
      const turnId = `t${n}`
      const [asked, answered] = [userPromptBlock(turnId, dateOf(n), text(30)), completionBlock(turnId, dateOf(n), { text: text(120) })]
      // blocks of another type with the same texts are stored in the same way, and not indexed
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
