import { searchText } from '../../adapters/model/offline/decide/search-text.ts'
import type { Situation } from '../prompt/situation.ts'
import type { Decision } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'
import { canCall } from './plan.ts'

/** Windows of one text that may be in sight at once: more would push everything else out. */
const maxWindows = 4

/** What a search of a long text finds, else its next window, as long as nothing was found; of a table always, for a sum over half of the rows is wrong. */
export function readMore(situation: Situation, documents: readonly OpenDocument[], found: boolean): Decision | undefined {
  const long = found || situation.announced.roundsLeft < 4 ? [] : documents.filter(({ partial }) => partial)
  for (const document of long) {
    const search = searchText(situation, document)
    if (search) return search
  }
  const wanted = documents.find(({ windows, table }) => {
    const next = windows.at(-1)?.next
    return next !== undefined && windows.length < maxWindows && (!found || table !== undefined) && !alreadyRead(situation, next)
  })
  const next = wanted?.windows.at(-1)?.next
  if (!wanted || !next || situation.announced.roundsLeft < 3 || !canCall(situation, 'react.read')) return undefined
  return {
    kind: 'call',
    thinking: `What I saw of ${wanted.name} is not all of it; I go on reading.`,
    notes: `I read on in ${wanted.name}.`,
    toolId: 'react.read',
    params: { paths: [wanted.path], items: [next] },
  }
}

const alreadyRead = ({ calls }: Situation, next: object) =>
  calls.some(({ params }) => JSON.stringify(params?.items ?? null) === JSON.stringify([next]))
