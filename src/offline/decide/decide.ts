import type { Document } from '../prompt/documents.ts'
import type { Situation } from '../prompt/situation.ts'
import { answerFromPassages } from './answer-from-passages.ts'
import { answerFromTable, readProgramResult, runProgram } from './answer-from-table.ts'
import { cannedReply, cannotAnswer, howToSetModel, suggestFollowups } from './canned-replies.ts'
import { answer, cite, type Decision, escapeMarkup } from './decision.ts'
import { type Intent, readIntent } from './intent.ts'
import { findRemembered, recall, remember } from './memory.ts'
import type { OpenDocument } from './open-documents.ts'
import { relevantDocuments, unreadDocuments } from './open-documents.ts'
import { canCall, closePlan, makePlan, planProgress } from './plan.ts'
import { readMore, searchKnowledge } from './read-more.ts'
import { deliverReport, outlineOf, reportSteps } from './report.ts'

/** What to do next. The same situation always gives the same decision. */
export async function decide(situation: Situation, open: (document: Document) => Promise<OpenDocument>): Promise<Decision> {
  const wish = readIntent(situation.request)
  if (wish.kind === 'remember') return remember(situation, wish.what)
  const plain = cannedReply(wish, situation)
  if (plain) return plain
  const documents = relevantDocuments(situation)
  if (wish.kind === 'recall' && (documents.length === 0 || isPersonal(situation))) return recall(situation, wish.about)
  const step = makePlan(situation, plannedSteps(wish, situation, documents)) ?? readFirst(situation, documents)
  if (step) return step
  const opened: OpenDocument[] = []
  for (const document of documents) opened.push(await open(document)) // one after the other: each may be large
  if (opened.length === 0) return withoutDocuments(situation)
  if (wish.kind === 'report') return deliverReport(situation, wish, opened)
  return answerFromDocuments(situation, wish, opened) ?? withoutDocuments(situation, opened)
}

const isPersonal = ({ request, notes }: Situation) => notes.length > 0 || /\b(?:my|me|i|mein\w*|ich|mir)\b/i.test(request)

/** One thing to read and one answer are no plan. */
function plannedSteps(wish: Intent, situation: Situation, documents: readonly Document[]): readonly string[] {
  const closed = unreadDocuments(documents, situation)
  const read = closed.length > 0 ? [`Read ${closed.map(({ name }) => name).join(', ')}`] : []
  if (wish.kind === 'report') return [...read, ...reportSteps(situation, wish)]
  return closed.length > 1 ? [...read, 'Find what answers the question'] : []
}

function readFirst(situation: Situation, documents: readonly Document[]): Decision | undefined {
  const closed = unreadDocuments(documents, situation)
  if (closed.length === 0 || !canCall(situation, 'react.read')) return undefined
  const names = closed.map(({ name }) => escapeMarkup(name)).join(', ')
  return {
    kind: 'call',
    thinking: `I have not seen what is in ${names} yet.`,
    notes: planProgress(situation.announced.plan, 'Read', `I read ${names}.`),
    toolId: 'react.read',
    params: { paths: closed.map(({ path }) => path) },
  }
}

function answerFromDocuments(situation: Situation, wish: Intent, documents: readonly OpenDocument[]): Decision | undefined {
  const { request } = situation
  const program = wish.kind === 'summary' ? undefined : runProgram(situation, documents)
  if (program) return program
  const text = wish.kind === 'summary' ? outlineOf(documents, '', '###') : findAnswer(situation, documents)
  const found = text === undefined || text === '' ? undefined : text
  const more = readProgramResult(situation) ? undefined : readMore(situation, documents, found !== undefined)
  if (more) return more
  if (found === undefined) return undefined
  return (
    closePlan(situation) ??
    answer('The documents say it; I quote them.', found, suggestFollowups(citedDocuments(found, documents), request))
  )
}

/** What is asked next is about what was just told. */
function citedDocuments(text: string, documents: readonly OpenDocument[]): readonly OpenDocument[] {
  const cited = documents.filter(({ name }) => text.includes(escapeMarkup(name)))
  return cited.length > 0 ? cited : documents
}

/** Tables reckon; everything else is quoted. A table answers only where no words answer better. */
function findAnswer(situation: Situation, documents: readonly OpenDocument[]): string | undefined {
  const { request } = situation
  const told = readProgramResult(situation)
  const reckoned = documents.flatMap((document) => answerFromTable(request, document, documents, told) ?? [])
  if (reckoned.length > 0) return reckoned.join('\n\n')
  return answerFromPassages(request, documents)?.text
}

/** What is left when the documents say nothing: notes, the knowledge space, and plain words. */
function withoutDocuments(situation: Situation, opened: readonly OpenDocument[] = []): Decision {
  const { request } = situation
  const known = findRemembered(situation, request)
  const looked = searchKnowledge(situation)
  if (looked) return looked
  const closing = closePlan(situation)
  if (closing) return closing
  if (known !== undefined) return answer('My notes say it.', known)
  const problems = opened.flatMap(({ problem }) => (problem === undefined ? [] : [`- ${escapeMarkup(problem)}.`]))
  const searched = opened.filter(({ problem }) => problem === undefined)
  if (opened.length === 0) return cannotAnswer(situation, request)
  return answer(
    'The documents do not say it.',
    [
      searched.length === 0
        ? 'I could not look into your files.'
        : `I found nothing about that in ${searched.map((document) => `**${escapeMarkup(document.name)}**${cite(document)}${seenLines(document)}`).join(', ')}.`,
      ...(problems.length > 0 ? [problems.join('\n')] : []),
      `I look for your words in the text. Ask with words that the document uses, or for a summary.\n\n${howToSetModel}`,
    ].join('\n\n'),
    suggestFollowups(opened, request),
  )
}

const seenLines = ({ partial }: OpenDocument) => (partial ? ` (I looked at ${partial.seen} of ${partial.total} lines)` : '')
