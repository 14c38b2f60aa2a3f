import type { Document } from '../prompt/documents.ts'
import type { Situation } from '../prompt/situation.ts'
import { answerFromPassages } from './answer-from-passages.ts'
import { answerFromTable, readProgramResult, runProgram } from './answer-from-table.ts'
import { cannedReply, cannotAnswer, howToSetModel, suggestFollowups } from './canned-replies.ts'
import { chartNote, drawChart } from './chart.ts'
import { answer, type Decision, escapeMarkup, mention } from './decision.ts'
import { type Intent, readIntent } from './intent.ts'
import { findRemembered, recall, remember } from './memory.ts'
import { type OpenDocument, relevantDocuments, unreadDocuments } from './open-documents.ts'
import { canCall, closePlan, makePlan, planProgress } from './plan.ts'
import { readMore, searchKnowledge } from './read-more.ts'
import { deliverReport, outlineOf, reportSteps } from './report.ts'
import { requestedCall } from './requested-call.ts'

/** Decides what to do in this round. The same prompt always gives the same decision. */
export async function decide(situation: Situation, open: (document: Document) => Promise<OpenDocument>): Promise<Decision> {
  const requested = requestedCall(situation)
  if (requested) return requested
  const intent = readIntent(situation.request)
  if (intent.kind === 'remember') return remember(situation, intent.what)
  const reply = cannedReply(intent, situation)
  if (reply) return reply
  const documents = relevantDocuments(situation)
  if (intent.kind === 'recall' && (documents.length === 0 || isPersonal(situation))) return recall(situation, intent.about)
  const step = makePlan(situation, plannedSteps(intent, situation, documents)) ?? readFirst(situation, documents)
  if (step) return step
  const opened: OpenDocument[] = []
  for (const document of documents) opened.push(await open(document)) // one at a time, because each document may be large
  if (opened.length === 0) return withoutDocuments(situation)
  if (intent.kind === 'report') return deliverReport(situation, intent, opened)
  return answerFromDocuments(situation, intent, opened) ?? withoutDocuments(situation, opened)
}

const isPersonal = ({ request, notes }: Situation) => notes.length > 0 || /\b(?:my|me|i|mein\w*|ich|mir)\b/i.test(request)

/**
 * The steps of the plan. Empty for a question that needs at most one document that is not read yet: such a small task needs no plan.
 */
function plannedSteps(intent: Intent, situation: Situation, documents: readonly Document[]): readonly string[] {
  const unread = unreadDocuments(documents, situation)
  const read = unread.length > 0 ? [`Read ${unread.map(({ name }) => name).join(', ')}`] : []
  if (intent.kind === 'report') return [...read, ...reportSteps(situation, intent)]
  return unread.length > 1 ? [...read, 'Find what answers the question'] : []
}

function readFirst(situation: Situation, documents: readonly Document[]): Decision | undefined {
  const unread = unreadDocuments(documents, situation)
  if (unread.length === 0 || !canCall(situation, 'react.read')) return undefined
  const names = unread.map(({ name }) => escapeMarkup(name)).join(', ')
  return {
    kind: 'call',
    thinking: `I have not seen what is in ${names} yet.`,
    notes: planProgress(situation.announce.plan, 'Read', `I read ${names}.`),
    toolId: 'react.read',
    params: { paths: unread.map(({ path }) => path) },
  }
}

function answerFromDocuments(situation: Situation, intent: Intent, documents: readonly OpenDocument[]): Decision | undefined {
  const { request } = situation
  const program = intent.kind === 'summary' ? undefined : runProgram(situation, documents)
  if (program) return program
  const text = (intent.kind === 'summary' ? outlineOf(documents, '') : findAnswer(situation, documents)) || undefined
  const more = readProgramResult(situation) ? undefined : readMore(situation, documents, text !== undefined)
  if (more) return more
  if (text === undefined) return undefined
  const chart = drawChart(situation, documents)
  if (chart) return chart
  const shown = [text, chartNote(situation, documents)].filter((part) => part !== '').join('\n\n')
  return (
    closePlan(situation) ?? answer('The documents say it; I quote them.', shown, suggestFollowups(citedDocuments(text, documents), request))
  )
}

/** The documents that the answer cites, or all documents when it cites none. Followup questions are suggested about these documents. */
function citedDocuments(text: string, documents: readonly OpenDocument[]): readonly OpenDocument[] {
  const cited = documents.filter((document) => text.includes(mention(document)))
  return cited.length > 0 ? cited : documents
}

/** Answers from the tables. If no table has the answer, quotes the texts. */
function findAnswer(situation: Situation, documents: readonly OpenDocument[]): string | undefined {
  const { request } = situation
  const programResult = readProgramResult(situation)
  const computed = documents.flatMap((document) => answerFromTable(request, document, documents, programResult) ?? [])
  return computed.length > 0 ? computed.join('\n\n') : answerFromPassages(request, documents)
}

/**
 * The decision when no document answers the request. The offline model first searches the knowledge space. If this does not help, it
 * answers from its notes, or tells the user which documents it has searched.
 */
function withoutDocuments(situation: Situation, opened: readonly OpenDocument[] = []): Decision {
  const { request } = situation
  const step = searchKnowledge(situation) ?? closePlan(situation)
  if (step) return step
  const remembered = findRemembered(situation, request)
  if (remembered !== undefined) return answer('My notes say it.', remembered)
  if (opened.length === 0) return cannotAnswer(situation, request)
  const problems = opened.flatMap(({ problem }) => (problem === undefined ? [] : [`- ${escapeMarkup(problem)}.`]))
  const searched = opened.filter(({ problem }) => problem === undefined)
  return answer(
    'The documents do not say it.',
    [
      searched.length === 0
        ? 'I could not look into your files.'
        : `I found nothing about that in ${searched.map((document) => `${mention(document)}${seenLines(document)}`).join(', ')}.`,
      ...(problems.length > 0 ? [problems.join('\n')] : []),
      `I look for your words in the text. Ask with words that the document uses, or for a summary.\n\n${howToSetModel}`,
    ].join('\n\n'),
    suggestFollowups(opened, request),
  )
}

const seenLines = ({ partial }: OpenDocument) => (partial ? ` (I looked at ${partial.seen} of ${partial.total} lines)` : '')
