import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { completionBlock, userPromptBlock } from '../../src/core/block/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { appended, closed, opened } from '../../src/testing/conformance/store/fixture.ts'
import { plainBm25 } from './bm25.ts'
import type { RecallQuestion, RecallSample } from './data.ts'

/** The ids of sessions and turns, best first. */
export interface Ranked {
  readonly sessions: readonly string[]
  readonly turns: readonly string[]
}

/** What was found for a question, by the memory search and by plain BM25. */
export interface Answered {
  readonly question: RecallQuestion
  readonly ours: Ranked
  readonly plain: Ranked
}

const me = { id: 'bench', host: 'here', pid: process.pid }
/** How many snippets a search returns here. The limit is so high that the best 10 sessions are always among the snippets. */
const LIMIT = 400

/** Stores each session as a conversation of one user, and each of its turns as a turn. */
async function storeSample(store: ConversationStore, { sessions }: RecallSample, user: string): Promise<void> {
  for (const { id, date, turns } of sessions) {
    const claim = await store.claim(`bench/recall/${user}/${encodeURIComponent(id)}`, me)
    const first = turns[0]?.speaker
    const changes = turns.flatMap(({ id: turnId, speaker, text }, n): readonly Change[] => {
      const isUser = speaker === 'user' || (speaker !== 'assistant' && speaker === first)
      const block = isUser ? userPromptBlock(turnId, date, text) : completionBlock(turnId, date, { text })
      return [opened(turnId), appended([block], n + 1), closed(turnId)]
    })
    await store.append(claim, changes)
    await store.release(claim)
  }
}

/** Asks all questions of the samples. It uses the store in memory, because the SQLite store searches with the same code. */
export async function askAll(samples: readonly RecallSample[]): Promise<readonly Answered[]> {
  const answered: Answered[] = []
  for (const [index, sample] of samples.entries()) {
    if (sample.questions.length === 0) continue
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
    const user = `u${index}`
    await storeSample(store, sample, user)
    const last = sample.sessions.reduce((latest, { date }) => (date > latest ? date : latest), '')
    const plain = plainBm25(sample)
    for (const question of sample.questions) {
      const matches = await store.memory?.search(question.text, {
        within: { user: { tenant: 'bench', project: 'recall', user } },
        targets: ['assistant', 'user', 'attachment', 'summary', 'notes'],
        now: question.date ?? last,
        limit: LIMIT,
      })
      const sessions = new Set(matches?.map(({ conversationId }) => decodeURIComponent(conversationId.split('/')[3] ?? '')))
      answered.push({
        question,
        ours: { sessions: [...sessions], turns: matches?.map(({ turnId }) => turnId) ?? [] },
        plain: plain(question.text),
      })
    }
    await store.close()
  }
  return answered
}

const cuts = [1, 3, 5, 10] as const

/**
 * Two percentages of questions: for how many questions all wanted ids are among the first k found ids, and for how many questions at least
 * one wanted id is.
 */
export function percentages(
  answered: readonly Answered[],
  who: 'ours' | 'plain',
  level: 'sessions' | 'turns',
): readonly { readonly k: number; readonly all: number; readonly any: number }[] {
  const asked = answered.filter(({ question }) => question[level].length > 0)
  const share = (matches: (answer: Answered) => boolean) => (100 * asked.filter(matches).length) / asked.length
  return cuts.map((k) => {
    const firstOf = (answer: Answered) => new Set(answer[who][level].slice(0, k))
    return {
      k,
      all: share((answer) => answer.question[level].every((id) => firstOf(answer).has(id))),
      any: share((answer) => answer.question[level].some((id) => firstOf(answer).has(id))),
    }
  })
}

/** Prints all@k and any@k of sessions and turns, for all questions and for each category. */
export async function printQuality(name: string, samples: readonly RecallSample[]): Promise<void> {
  const answered = await askAll(samples)
  console.log(`  ${name}: ${answered.length} questions in ${samples.length} samples; all@k / any@k in percent`)
  const categories = [...Map.groupBy(answered, ({ question }) => question.category)].sort(([a], [b]) => a.localeCompare(b))
  const groups: readonly (readonly [string, readonly Answered[]])[] =
    categories.length > 1 ? [['all', answered], ...categories] : categories
  for (const level of ['sessions', 'turns'] as const) {
    console.log(`  ${level.padEnd(38)}${cuts.map((k) => `k = ${k}`.padStart(14)).join('')}`)
    for (const [category, some] of groups)
      for (const who of ['ours', 'plain'] as const) {
        const label = who === 'ours' ? `${category} (${some.length})` : ''
        const cells = percentages(some, who, level).map(({ all, any }) => `${all.toFixed(1)} / ${any.toFixed(1)}`.padStart(14))
        console.log(`    ${label.padEnd(30)}${who === 'ours' ? '' : 'BM25  '}${' '.repeat(who === 'ours' ? 6 : 0)}${cells.join('')}`)
      }
  }
}
