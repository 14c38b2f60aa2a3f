import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bridgeSamples } from '../bench/recall/bridges.ts'
import { readRecallFile } from '../bench/recall/data.ts'
import { heldOutWorld } from '../bench/recall/held-out.ts'
import { oneUserSamples } from '../bench/recall/one-user.ts'
import { askAll, percentages } from '../bench/recall/quality.ts'
import { twoPeopleSamples } from '../bench/recall/two-people.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-recall-data-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function read(samples: unknown) {
  const file = join(folder, 'data.json')
  writeFileSync(file, JSON.stringify(samples))
  return readRecallFile(file)
}

describe('the data of the recall benchmark', () => {
  it('reads LoCoMo files, with their irregular evidence and the captions of images', () => {
    const [sample] = read([
      {
        sample_id: 'conv-1',
        conversation: {
          speaker_a: 'Ann',
          speaker_b: 'Bob',
          session_1_date_time: '1:56 pm on 8 May, 2023',
          session_1: [
            { speaker: 'Ann', dia_id: 'D1:1', text: 'Look!', img_url: ['x'], blip_caption: 'a photo of a dog', query: 'dog' },
            { speaker: 'Bob', dia_id: 'D1:2', text: 'Cute.' },
          ],
          session_2_date_time: '9:00 am on 1 June, 2023',
          session_2: [{ speaker: 'Bob', dia_id: 'D2:1', text: 'Hi.' }],
          session_3_date_time: '9:00 am on 2 June, 2023',
          session_4: [],
          session_4_date_time: '9:00 am on 3 June, 2023',
        },
        qa: [
          { question: 'one', answer: 1, evidence: ['D1:1; D2:01'], category: 1 },
          { question: 'two', answer: 'x', evidence: ['D:1:2', 'D9:9'], category: 4 },
          { question: 'none', adversarial_answer: 'x', evidence: ['D1:2'], category: 5 },
          { question: 'without', answer: 'x', evidence: [], category: 3 },
          { question: 'three', answer: 'x', evidence: ['D1:1 D1:2', 'D', null, 'D2:1,D1:1'], category: 3 },
          { question: 'absent', answer: 'x', category: 2 },
        ],
      },
    ])
    expect(sample?.sessions.map(({ id, date, turns }) => [id, date, turns.map(({ text }) => text)])).toEqual([
      ['D1', '2023-05-08T13:56:00.000Z', ['Ann: Look!\n[shares a photo of a dog]', 'Bob: Cute.']],
      ['D2', '2023-06-01T09:00:00.000Z', ['Bob: Hi.']],
    ])
    expect(sample?.questions).toEqual([
      { text: 'one', category: 'multi-hop', turns: ['D1:1', 'D2:1'], sessions: ['D1', 'D2'] },
      { text: 'two', category: 'single-hop', turns: ['D1:2'], sessions: ['D1'] },
      { text: 'three', category: 'open-domain', turns: ['D1:1', 'D1:2', 'D2:1'], sessions: ['D1', 'D2'] },
    ])
  })

  it('reads LongMemEval files, without the questions that have no answer', () => {
    const question = {
      question_id: 'q1',
      question_type: 'multi-session',
      question: 'where?',
      question_date: '2023/05/30 (Tue) 23:40',
      haystack_session_ids: ['a', 'b', 'a'],
      haystack_dates: ['2023/05/20 (Sat) 02:21', '2023/05/21 (Sun) 02:21', '2023/05/20 (Sat) 02:21'],
      haystack_sessions: [
        [{ role: 'user', content: 'here', has_answer: true }],
        [{ role: 'assistant', content: 'hello' }],
        [{ role: 'user', content: 'here', has_answer: true }],
      ],
      answer_session_ids: ['a'],
    }
    const [first, second] = read([question, { ...question, question_id: 'q1_abs' }])
    expect(first?.sessions.map(({ id, date }) => [id, date])).toEqual([
      ['a', '2023-05-20T02:21:00.000Z'],
      ['b', '2023-05-21T02:21:00.000Z'],
    ])
    expect(first?.questions).toEqual([
      { text: 'where?', category: 'multi-session', sessions: ['a'], turns: ['a:0'], date: '2023-05-30T23:40:00.000Z' },
    ])
    expect(second?.questions).toEqual([])
  })

  it('says which sample of a file has another shape', () => {
    expect(() => read([{ messages: [] }])).toThrow(/sample 0 has neither haystack_sessions/)
  })

  const sets = {
    'two people': () => twoPeopleSamples(1),
    'two people, held out': () => twoPeopleSamples(1, heldOutWorld),
    'one user': () => oneUserSamples({ file: 'chats-by-the-way.txt', others: 'elsewhere' }).filter((_, n) => n % 4 === 0),
    'one user, advice': () => oneUserSamples({ file: 'chats-advice.txt', others: 'elsewhere' }),
    'one user, same subjects': () => oneUserSamples({ file: 'chats-held-out.txt', others: 'same' }).filter((_, n) => n % 3 === 0),
    bridges: () => bridgeSamples(1),
  }

  it.each(Object.entries(sets))('%s: every evidence exists, and the search finds at least as much as plain BM25', async (_, make) => {
    const samples = make()
    for (const { sessions, questions } of samples) {
      const known = new Set(sessions.flatMap(({ id, turns }) => [id, ...turns.map((turn) => turn.id)]))
      expect(questions.flatMap(({ turns, sessions: places }) => [...turns, ...places]).filter((id) => !known.has(id))).toEqual([])
    }
    const answered = await askAll(samples)
    expect(answered.length).toBeGreaterThan(10)
    const oneQuestion = 101 / answered.length // some questions have no word that the search uses, so chance decides about them
    for (const level of ['sessions', 'turns'] as const) {
      const [ours, plain] = [percentages(answered, 'ours', level), percentages(answered, 'plain', level)]
      for (const [at, { all, any }] of ours.entries()) {
        if ((plain[at]?.k ?? 0) < 5) continue
        expect(all + oneQuestion).toBeGreaterThanOrEqual(plain[at]?.all ?? 0)
        expect(any + oneQuestion).toBeGreaterThanOrEqual(plain[at]?.any ?? 0)
      }
    }
  })
})
