import { noteSegments } from '../../core/block/note.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Situation } from '../prompt/situation.ts'
import { rankPassages } from '../text/rank.ts'
import { contentWords, foldCase } from '../text/words.ts'
import { answer, type Decision, escapeMarkup } from './decision.ts'
import { canCall, wasCalled } from './plan.ts'

/** A note to itself, tagged: what the user prefers, what was decided, how things are. */
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

/** From notes, then from what was said, then by searching. */
export function recall(situation: Situation, about: string): Decision {
  const known = findRemembered(situation, about)
  if (known !== undefined) return answer('I find it in my notes.', known)
  if (canCall(situation, 'react.memsearch') && !wasCalled(situation, 'react.memsearch')) return searchMemory(about)
  const found = memsearchAnswer(situation)
  if (found !== undefined) return answer('The search found it.', found)
  const all = noteLines(situation)
  if (all.length > 0 && contentWords(withoutAskingWords(about)).length === 0) return answer('These are my notes.', listOf(all))
  return answer('Nothing is noted.', 'I have no note about that. Say “remember that …” and I will keep it.')
}

function searchMemory(about: string): Decision {
  return {
    kind: 'call',
    thinking: 'My notes in sight do not say, so I search what was said before.',
    notes: 'I search earlier turns.',
    toolId: 'react.memsearch',
    params: { query: about.slice(0, 300), targets: ['user', 'notes', 'summary'] },
  }
}

/** What notes and earlier words say to it, if they do. */
export function findRemembered(situation: Situation, about: string): string | undefined {
  const asked = withoutAskingWords(about)
  const noted = noteLines(situation)
  const said = situation.earlier.filter((text) => !text.trim().endsWith('?'))
  const best = (texts: readonly string[]) =>
    rankPassages(
      asked,
      texts.map((text, index) => ({ text, headings: [], line: index + 1 })),
    ).filter(({ covers }) => covers >= 0.5)
  const [fromNotes, fromWords] = [best(noted), best(said)]
  if (fromNotes.length > 0) return listOf(fromNotes.slice(0, 3).map(({ passage }) => passage.text))
  return fromWords[0] ? `You said: “${escapeMarkup(fromWords[0].passage.text.replace(/\s+/g, ' ').slice(0, 400))}”` : undefined
}

const askingWords =
  /\b(?:what|do|can|did|have|you|still|remember|recall|know|about|tell|told|said|say|ask|asked|remind|me|my|i|is|are|was|the|weisst|erinnerst|dich|an)\b/gi
const withoutAskingWords = (text: string) => text.replace(askingWords, ' ')

const noteLines = ({ notes, summaries }: Situation): readonly string[] => {
  const digest = summaries.flatMap((text) => [...text.matchAll(/^- (.+)$/gm)].map(([, line]) => line as string))
  return [...new Set([...notes.flatMap((note) => noteSegments(note).map(({ text }) => text)), ...digest])].filter((text) => text !== '')
}

const listOf = (texts: readonly string[]) =>
  `I have noted:\n\n${texts
    .slice(-12)
    .map((text) => `- ${escapeMarkup(text)}`)
    .join('\n')}`

function memsearchAnswer({ calls }: Situation): string | undefined {
  const body = calls.findLast(({ toolId }) => toolId === 'react.memsearch')?.results[0]?.body
  const payload = parseJson(body?.replace(/^mime: .*\npayload:\n/, ''))
  const hits = isObject(payload) && Array.isArray(payload.hits) ? payload.hits.filter(isObject) : []
  const texts = hits.flatMap(({ text }) => (typeof text === 'string' ? [text.replace(/\s+/g, ' ').trim()] : []))
  return texts.length === 0
    ? undefined
    : `From earlier in our conversation:\n\n${texts
        .slice(0, 3)
        .map((text) => `- “${escapeMarkup(text)}”`)
        .join('\n')}`
}
