import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { passagesOf } from './passages.ts'
import { centralPassages, rankPassages } from './rank.ts'

const handbook = [
  '# Handbook',
  '',
  'Welcome to the shop. It opens at 9.30 a.m. on weekdays.',
  '',
  '## Returns',
  '',
  'Goods can be returned within 30 days. The receipt is needed.',
  '',
  '- Shoes: 14 days only',
  '- Books are never taken back',
  '',
  '## Öffnungszeiten',
  '',
  'Am Samstag öffnen wir um 10 Uhr. 日曜日は休みです。月曜日は九時に開きます。',
].join('\n')
const best = (question: string) => rankPassages(question, passagesOf(handbook))[0]?.passage

describe('rankPassages', () => {
  it.each([
    ['How many days do I have to return goods?', 'Goods can be returned within 30 days.'],
    ['How long can shoes be returned?', 'Shoes: 14 days only'],
    ['Do you take back books?', 'Books are never taken back'],
    ['Wann öffnet ihr am Samstag?', 'Am Samstag öffnen wir um 10 Uhr.'],
    ['月曜日は何時に開きますか', '月曜日は九時に開きます。'],
  ])('finds the passage for: %s', (question, passage) => expect(best(question)?.text).toBe(passage))

  it.each([
    ['member', 'Members'],
    ['members', 'member'],
    ['bookings', 'booking'],
    ['order', 'ordered'],
    ['fees', 'fee'],
    ['glass', 'glasses'],
    ['reservation', 'reservations'],
    ['boxes', 'box'],
    ['companies', 'company'],
  ])('finds a passage by another form of its word: %s, %s', (asked, written) => {
    expect(rankPassages(asked, passagesOf(`One ${written} is here. Other text.`))).toHaveLength(1)
  })

  it('gives the headings and the line of a passage', () => {
    expect(best('shoes')).toEqual({ text: 'Shoes: 14 days only', headings: ['Handbook', 'Returns'], line: 9 })
  })

  it('finds nothing when no passage has a word of the question, or the question has only stop words', () => {
    expect(rankPassages('zebra', passagesOf(handbook))).toEqual([])
    expect(rankPassages('what is the', passagesOf(handbook))).toEqual([])
  })
})

describe('passagesOf', () => {
  it('gives passages that are in the text word for word', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('One two. Three?', '# Head', '- item', '', '| a | b |', 'Dr. Who is 3.5 m tall.', '“Yes.” No')),
        (lines) => {
          const text = lines.join('\n')
          const plain = text.replace(/\s+/g, ' ')
          for (const passage of passagesOf(text)) expect(plain).toContain(passage.text)
        },
      ),
    )
  })

  it('does not end a sentence inside a number or after a title', () => {
    const passages = passagesOf('Dr. Who paid 3.50 in total. He left.')
    expect(passages.map(({ text }) => text)).toEqual(['Dr. Who paid 3.50 in total.', 'He left.'])
  })
})

it('centralPassages keeps the order of the text', () => {
  const passages = passagesOf(
    'The kettle boils water fast. Cats sleep. The kettle has a water gauge. Rain. The water in the kettle stays hot.',
  )
  expect(centralPassages(passages, 2).map(({ text }) => text)).toEqual([
    'The kettle boils water fast.',
    'The water in the kettle stays hot.',
  ])
})
