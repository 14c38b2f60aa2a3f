import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readRecallFile } from '../bench/recall-data.ts'
import { syntheticSamples } from '../bench/recall-synthetic.ts'

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
        },
        qa: [
          { question: 'one', answer: 1, evidence: ['D1:1; D2:01'], category: 1 },
          { question: 'two', answer: 'x', evidence: ['D:1:2', 'D9:9'], category: 4 },
          { question: 'none', adversarial_answer: 'x', evidence: ['D1:2'], category: 5 },
          { question: 'without', answer: 'x', evidence: [], category: 3 },
        ],
      },
    ])
    expect(sample?.sessions.map(({ id, date, turns }) => [id, date.slice(0, 10), turns.map(({ text }) => text)])).toEqual([
      ['D1', '2023-05-08', ['Ann: Look!\n[shares a photo of a dog]', 'Bob: Cute.']],
      ['D2', '2023-06-01', ['Bob: Hi.']],
    ])
    expect(sample?.questions).toEqual([
      { text: 'one', turns: ['D1:1', 'D2:1'], sessions: ['D1', 'D2'], multiHop: true },
      { text: 'two', turns: ['D1:2'], sessions: ['D1'], multiHop: false },
    ])
  })

  it('reads LongMemEval files, without the questions that have no answer', () => {
    const question = {
      question_id: 'q1',
      question_type: 'multi-session',
      question: 'where?',
      question_date: '2023/06/01 (Thu) 10:00',
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
    expect(first?.sessions.map(({ id, date }) => [id, date.slice(0, 10)])).toEqual([
      ['a', '2023-05-20'],
      ['b', '2023-05-21'],
    ])
    expect(first?.questions).toEqual([{ text: 'where?', sessions: ['a'], turns: ['a:0'], multiHop: true }])
    expect(second?.questions).toEqual([])
  })

  it('makes synthetic conversations in which every evidence exists', () => {
    const samples = syntheticSamples(2)
    for (const { sessions, questions } of samples) {
      const known = new Set(sessions.flatMap(({ turns }) => turns.map(({ id }) => id)))
      expect(questions.length).toBeGreaterThan(50)
      expect(questions.flatMap(({ turns }) => turns).filter((id) => !known.has(id))).toEqual([])
      expect(questions.filter(({ multiHop, sessions: places }) => multiHop && places.length < 2)).toEqual([])
    }
  })
})
