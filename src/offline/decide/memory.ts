import { noteSegments } from '../../core/block/notes.ts'
import { cutAt } from '../../core/cut.ts'
import { isObject } from '../../core/json.ts'
import { parsePayload, type Situation } from '../prompt/situation.ts'
import { rankPassages } from '../text/rank.ts'
import { contentWords, foldCase } from '../text/words.ts'
import { answer, type Decision, escapeMarkup } from './decision.ts'
import { canCall, wasCalled } from './plan.ts'

/**
 * The decision for a request such as "remember that …". The first round calls `react.write` with a note, tagged as preference (P), decision
 * (D) or fact (S). The next round answers that the note is written.
 */
export function remember(situation: Situation, what: string): Decision {
  const written = situation.calls.find(({ toolId }) => toolId === 'react.write')
  if (written && !written.failed) return answer('The note is kept.', `Noted: ${escapeMarkup(what)}`, ['What do you remember about me?'])
  if (written || !canCall(situation, 'react.write'))
    return answer('I can not keep a note here.', `I could not write a note, but it stays in this conversation: ${escapeMarkup(what)}`)
  return {
    kind: 'call',
    thinking: 'This is worth keeping, so I write an internal note.',
    notes: 'I make a note of that.',
    toolId: 'react.write',
    params: {
      path: 'files/memory/notes.md',
      channel: 'internal',
      content: `[${tagOf(what)}] ${what.replace(/\s+/g, ' ')}`,
      kind: 'display',
    },
  }
}

function tagOf(what: string): 'P' | 'D' | 'S' {
  const text = foldCase(what)
  if (/\b(?:decid\w+|we (?:use|chose|go with)|entschieden|beschlossen)\b/.test(text)) return 'D'
  return /\b(?:i|my|me|mine|we|our|us|prefer\w*|like\w*|always|never|ich|mein\w*|mir|mich|wir|unser\w*)\b/.test(text) ? 'P' : 'S'
}

/** Answers from the notes and earlier messages. If they contain no answer, it searches earlier turns. */
export function recall(situation: Situation, about: string): Decision {
  const remembered = findRemembered(situation, about)
  if (remembered !== undefined) return answer('I find it in my notes.', remembered)
  if (canCall(situation, 'react.memsearch') && !wasCalled(situation, 'react.memsearch')) return searchMemory(about)
  const searched = memsearchAnswer(situation)
  if (searched !== undefined) return answer('The search found it.', searched)
  const notes = noteLines(situation)
  if (notes.length > 0 && contentWords(withoutAskingWords(about)).length === 0) return answer('These are my notes.', listOf(notes))
  return answer('Nothing is noted.', 'I have no note about that. Say “remember that …” and I will keep it.')
}

function searchMemory(about: string): Decision {
  return {
    kind: 'call',
    thinking: 'My notes in sight do not say, so I search what was said before.',
    notes: 'I search earlier turns.',
    toolId: 'react.memsearch',
    params: { query: cutAt(about, 300), targets: ['user', 'notes', 'summary'] },
  }
}

/**
 * The notes that contain at least half of the question's words. If there is no such note, the result is an earlier message of the user that
 * contains at least half of these words. Messages that end with a question mark are not used.
 */
export function findRemembered(situation: Situation, about: string): string | undefined {
  const question = withoutAskingWords(about)
  const statements = situation.earlier.filter((text) => !text.trim().endsWith('?'))
  const matching = (texts: readonly string[]) =>
    rankPassages(
      question,
      texts.map((text, index) => ({ text, headings: [], line: index + 1 })),
    ).filter(({ covers }) => covers >= 0.5)
  const notes = matching(noteLines(situation))
  if (notes.length > 0) return listOf(notes.slice(0, 3).map(({ passage }) => passage.text))
  const [statement] = matching(statements)
  return statement && `You said: “${escapeMarkup(cutAt(statement.passage.text.replace(/\s+/g, ' '), 400))}”`
}

/** Words that occur in questions but do not tell what the question is about. */
const askingWords =
  /\b(?:what|do|can|did|have|you|still|remember|recall|know|about|tell|told|said|say|ask|asked|remind|me|my|i|is|are|was|the|weisst|erinnerst|dich|an)\b/gi
const withoutAskingWords = (text: string) => text.replace(askingWords, ' ')

/** The lines of all notes, and the list items of all summaries. */
const noteLines = ({ notes, summaries }: Situation): readonly string[] => {
  const summaryLines = summaries.flatMap((text) => [...text.matchAll(/^- (.+)$/gm)].map(([, line]) => line as string))
  return [...new Set([...notes.flatMap((note) => noteSegments(note).map(({ text }) => text)), ...summaryLines])].filter(
    (text) => text !== '',
  )
}

const listOf = (texts: readonly string[]) =>
  `I have noted:\n\n${texts
    .slice(-12)
    .map((text) => `- ${escapeMarkup(text)}`)
    .join('\n')}`

function memsearchAnswer({ calls }: Situation): string | undefined {
  const payload = parsePayload(calls.findLast(({ toolId }) => toolId === 'react.memsearch')?.results[0])
  const hits = isObject(payload) && Array.isArray(payload.hits) ? payload.hits.filter(isObject) : []
  const texts = hits.flatMap(({ text }) => (typeof text === 'string' ? [text.replace(/\s+/g, ' ').trim()] : []))
  return texts.length === 0
    ? undefined
    : `From earlier in our conversation:\n\n${texts
        .slice(0, 3)
        .map((text) => `- “${escapeMarkup(text)}”`)
        .join('\n')}`
}
