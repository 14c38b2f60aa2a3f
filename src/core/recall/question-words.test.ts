import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { periodOf } from './period.ts'
import { relatedTerms } from './related.ts'
import { speakerTermsOf } from './speakers.ts'
import { termsOf } from './terms.ts'

const now = Date.parse('2024-03-20T12:00:00Z') / 1_000
const period = (question: string) => {
  const found = periodOf(question.toLowerCase().split(' '), now)
  return found && [found.from, found.to].map((seconds) => new Date(seconds * 1_000).toISOString().slice(0, 10))
}

describe('the period that a question names', () => {
  it.each([
    ['what did we do in May 2023', ['2023-05-01', '2023-06-01']],
    ['on 7 June 2023', ['2023-06-07', '2023-06-08']],
    ['June 7th 2023', ['2023-06-07', '2023-06-08']],
    ['in February', ['2024-02-01', '2024-03-01']],
    ['last december', ['2023-12-01', '2024-01-01']],
    ['during 2022', ['2022-01-01', '2023-01-01']],
    ['yesterday', ['2024-03-19', '2024-03-20']],
    ['last week', ['2024-03-06', '2024-03-20']],
    ['a week ago', ['2024-03-08', '2024-03-17']],
    ['three days ago', ['2024-03-15', '2024-03-18']],
  ])('%s', (question, expected) => {
    expect(period(question)).toEqual(expected)
  })

  it.each(['it may rain', 'the march of time', 'room 1200', 'who is it', 'zero days ago', ''])('none in: %s', (question) => {
    expect(period(question)).toBeUndefined()
  })

  it('any words are accepted', () => {
    const word = fc.constantFrom('may', 'last', 'ago', 'week', 'two', '7', '2023', 'june', '999999', '-1', 'sept')
    fc.assert(
      fc.property(fc.array(fc.oneof(word, fc.string()), { maxLength: 8 }), (words) => {
        const found = periodOf(words, now)
        expect(found === undefined || found.from < found.to).toBe(true)
      }),
    )
  })
})

describe('the speakers that a text names', () => {
  it.each([
    ['Ann: I sold the boat.', ['@ann']],
    ['Ann Lee: hello\nBob: hi', ['@ann', '@lee', '@bob']],
    ['Élodie: bonjour', ['@élodie']],
    ['Note to self', []],
    ['https://example.com', []],
    ['Error:none', []],
    ['the plan: go', []],
  ])('%s', (text, expected) => {
    expect(speakerTermsOf(text)).toEqual(expected)
  })
})

describe('related words', () => {
  it.each([
    ['children', 'kids'],
    ['rubbish', 'trash'],
    ['bug', 'error'],
    ['pets', 'puppy'],
  ])('%s leads to %s', (from, to) => {
    expect(termsOf(from).flatMap(relatedTerms)).toContain(termsOf(to)[0])
  })

  it('an example does not lead to its kind', () => {
    expect(termsOf('puppy').flatMap(relatedTerms)).not.toContain('pet')
  })
})
