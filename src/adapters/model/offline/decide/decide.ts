import type { Document } from '../prompt/document.ts'
import type { Situation } from '../prompt/situation.ts'
import { programResult, runProgram } from './by-program.ts'
import { consulted, unread } from './consult.ts'
import { answer, type Decision } from './decision.ts'
import { followupsFor } from './followups.ts'
import { answerFromPassages } from './from-passages.ts'
import { answerFromTable } from './from-table.ts'
import { furtherReading } from './further-reading.ts'
import { fromKnowledge } from './knowledge.ts'
import { recall, remember, remembered } from './memory.ts'
import type { Opened } from './open.ts'
import { cannot, howToSetModel, plainWords } from './plain-words.ts'
import { cite, neutral } from './quote.ts'
import { outlineOf } from './report.ts'
import { closePlan, mayCall, planFirst, progress } from './steps.ts'
import { readWish, type Wish } from './wish.ts'
import { deliver, stepsOfReport } from './writing.ts'

/** What to do next. The same situation always gives the same decision. */
export async function decide(situation: Situation, open: (document: Document) => Promise<Opened>): Promise<Decision> {
  const wish = readWish(situation.request)
  if (wish.kind === 'remember') return remember(situation, wish.what)
  const plain = plainWords(wish, situation)
  if (plain) return plain
  const documents = consulted(situation)
  if (wish.kind === 'recall' && (documents.length === 0 || isPersonal(situation))) return recall(situation, wish.about)
  const step = planFirst(situation, stepsOf(wish, situation, documents)) ?? reading(situation, documents)
  if (step) return step
  const opened: Opened[] = []
  for (const document of documents) opened.push(await open(document)) // one after the other: each may be large
  if (opened.length === 0) return withoutDocuments(situation)
  if (wish.kind === 'report') return deliver(situation, wish, opened)
  return answering(situation, wish, opened) ?? withoutDocuments(situation, opened)
}

const isPersonal = ({ request, notes }: Situation) => notes.length > 0 || /\b(?:my|me|i|mein\w*|ich|mir)\b/i.test(request)

/** One thing to read and one answer are no plan. */
function stepsOf(wish: Wish, situation: Situation, documents: readonly Document[]): readonly string[] {
  const closed = unread(documents, situation)
  const read = closed.length > 0 ? [`Read ${closed.map(({ name }) => name).join(', ')}`] : []
  if (wish.kind === 'report') return [...read, ...stepsOfReport(situation, wish)]
  return closed.length > 1 ? [...read, 'Find what answers the question'] : []
}

function reading(situation: Situation, documents: readonly Document[]): Decision | undefined {
  const closed = unread(documents, situation)
  if (closed.length === 0 || !mayCall(situation, 'react.read')) return undefined
  const names = closed.map(({ name }) => neutral(name)).join(', ')
  return {
    kind: 'call',
    thinking: `I have not seen what is in ${names} yet.`,
    notes: progress(situation.announced.plan, 'Read', `I read ${names}.`),
    toolId: 'react.read',
    params: { paths: closed.map(({ path }) => path) },
  }
}

function answering(situation: Situation, wish: Wish, documents: readonly Opened[]): Decision | undefined {
  const { request } = situation
  const program = wish.kind === 'summary' ? undefined : runProgram(situation, documents)
  if (program) return program
  const text = wish.kind === 'summary' ? outlineOf(documents, '', '###') : answerIn(situation, documents)
  const found = text === undefined || text === '' ? undefined : text
  const more = programResult(situation) ? undefined : furtherReading(situation, documents, found !== undefined)
  if (more) return more
  if (found === undefined) return undefined
  return closePlan(situation) ?? answer('The documents say it; I quote them.', found, followupsFor(citedIn(found, documents), request))
}

/** What is asked next is about what was just told. */
function citedIn(text: string, documents: readonly Opened[]): readonly Opened[] {
  const cited = documents.filter(({ name }) => text.includes(neutral(name)))
  return cited.length > 0 ? cited : documents
}

/** Tables reckon; everything else is quoted. A table answers only where no words answer better. */
function answerIn(situation: Situation, documents: readonly Opened[]): string | undefined {
  const { request } = situation
  const told = programResult(situation)
  const reckoned = documents.flatMap((document) => answerFromTable(request, document, documents, told) ?? [])
  if (reckoned.length > 0) return reckoned.join('\n\n')
  return answerFromPassages(request, documents)?.text
}

/** What is left when the documents say nothing: notes, the knowledge space, and plain words. */
function withoutDocuments(situation: Situation, opened: readonly Opened[] = []): Decision {
  const { request } = situation
  const known = remembered(situation, request)
  const looked = fromKnowledge(situation)
  if (looked) return looked
  const closing = closePlan(situation)
  if (closing) return closing
  if (known !== undefined) return answer('My notes say it.', known)
  const problems = opened.flatMap(({ problem }) => (problem === undefined ? [] : [`- ${neutral(problem)}.`]))
  const searched = opened.filter(({ problem }) => problem === undefined)
  if (opened.length === 0) return cannot(situation, request)
  return answer(
    'The documents do not say it.',
    [
      searched.length === 0
        ? 'I could not look into your files.'
        : `I found nothing about that in ${searched.map((document) => `**${neutral(document.name)}**${cite(document)}${seenOf(document)}`).join(', ')}.`,
      ...(problems.length > 0 ? [problems.join('\n')] : []),
      `I look for your words in the text. Ask with words that the document uses, or for a summary.\n\n${howToSetModel}`,
    ].join('\n\n'),
    followupsFor(opened, request),
  )
}

const seenOf = ({ partial }: Opened) => (partial ? ` (I looked at ${partial.seen} of ${partial.total} lines)` : '')
