import { parseJson } from '../../../../core/json.ts'
import { toPhysical } from '../../../../core/path/physical.ts'
import type { Situation } from '../prompt/situation.ts'
import { programFor } from '../table/program.ts'
import { Told } from '../table/told.ts'
import type { Decision } from './decision.ts'
import { queryFor } from './from-table.ts'
import type { Opened } from './open.ts'
import { mayCall, progress } from './steps.ts'

const tool = 'exec_tools.execute_code_javascript'

/** Where programs can run, a table is reckoned by one: it sees every row, also of a file too long to read. Once; what fails is done here. */
export function runProgram(situation: Situation, documents: readonly Opened[]): Decision | undefined {
  const { turnId, announced, calls } = situation
  const asked = documents.flatMap((document) => {
    const query = queryFor(situation.request, document, documents)
    const table = toPhysical(document.path)
    return query && query.notUnderstood.names.length === 0 && table !== undefined && document.turnId === turnId
      ? [{ document, query, table }]
      : []
  })
  const [first] = asked
  if (!first || asked.length > 1 || !mayCall(situation, tool) || calls.some(({ toolId }) => toolId === tool)) return undefined
  return {
    kind: 'call',
    thinking: `${first.document.name} is a table, so I let a program reckon.`,
    notes: progress(announced.plan, 'Find', `I run a program over ${first.document.name}.`),
    toolId: tool,
    params: { contract: [{ filename: 'outputs/answer.json', description: 'the answer, with its rows', visibility: 'internal' }] },
    code: programFor(first.query, { table: first.table, answer: `${turnId}/outputs/answer.json` }),
  }
}

/** What the program wrote, if it did. */
export function programResult({ calls }: Situation): Told | undefined {
  const results = calls.find(({ toolId }) => toolId === tool)?.results ?? []
  const written = results.find(({ path }) => path?.endsWith('.outputs/answer.json') === true)
  const parsed = Told.safeParse(parseJson(written?.body.replace(/^mime: .*\npayload:\n/, '')))
  return parsed.success ? parsed.data : undefined
}
