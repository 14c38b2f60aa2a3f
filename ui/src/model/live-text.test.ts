import { type ConversationView, emptyView, type LiveLane } from 'daybook/client'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { countParagraphs, keepShownText, noParagraphs } from './live-text.ts'

const lane = (text: string, marker = 'answer'): LiveLane => ({
  marker,
  artifactName: undefined,
  format: 'markdown',
  text,
  completed: false,
})
const viewWith = (lanes: readonly LiveLane[], more: Partial<ConversationView['live']> = {}): ConversationView => ({
  ...emptyView,
  live: { turnId: 't1', iteration: 1, attempt: 0, status: undefined, toolId: undefined, running: [], error: undefined, lanes, ...more },
})

it('a text that is sent again does not shrink on the screen, and goes on where it was', () => {
  const shown = viewWith([lane('I think.', 'thinking'), lane('One. Two.')])
  expect(keepShownText(shown, viewWith([lane('I', 'thinking'), lane('One.')]))).toEqual(shown)
  const longer = viewWith([lane('I think.', 'thinking'), lane('One. Two. Three.')])
  expect(keepShownText(shown, longer)).toBe(longer)
})

it.each([
  ['another text', viewWith([lane('Other')])],
  ['another attempt', viewWith([lane('One.')], { attempt: 1 })],
  ['another round', viewWith([lane('One.')], { iteration: 2 })],
  ['another turn', viewWith([lane('One.')], { turnId: 't2' })],
  ['the answer became notes', viewWith([lane('One.', 'timeline_text')])],
  ['the round has ended', emptyView],
])('a shorter text is shown at once if it is not the same text again: %s', (_name, next) => {
  expect(keepShownText(viewWith([lane('One. Two.')]), next)).toBe(next)
})

it('the paragraphs of a text are the same whether it grows or comes at once', () => {
  const piece = fc.constantFrom('a', '\n', '\n\n', '\n\n\n', 'b c')
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
      const texts = pieces.map((_, index) => pieces.slice(0, index + 1).join(''))
      const grown = texts.reduce((count, text) => countParagraphs(text, count), noParagraphs)
      const whole = pieces.join('')
      expect(grown).toEqual(countParagraphs(whole, noParagraphs))
      expect(grown.count).toBe(whole.split('\n\n').length)
    }),
  )
})
