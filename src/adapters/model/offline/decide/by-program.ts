import { parseJson } from '../../../../core/json.ts'
import { toPhysical } from '../../../../core/path/physical.ts'
import { queryFor } from '../../../../offline/decide/answer-from-table.ts'
import type { Decision } from '../../../../offline/decide/decision.ts'
import type { OpenDocument } from '../../../../offline/decide/open-documents.ts'
import { canCall, planProgress } from '../../../../offline/decide/plan.ts'
import type { Situation } from '../../../../offline/prompt/situation.ts'
import { writeProgram } from '../../../../offline/table/program.ts'
import { ProgramResult } from '../table/told.ts'

const execTool = 'exec_tools.execute_code_javascript'

/** Where programs can run, a table is reckoned by one: it sees every row, also of a file too long to read. Once; what fails is done here. */
export function runProgram(situation: Situation, documents: readonly OpenDocument[]): Decision | undefined {
  const { turnId, announced, calls } = situation
  const asked = documents.flatMap((document) => {
    const query = queryFor(situation.request, document, documents)
    const table = toPhysical(document.path)
    return query && query.notUnderstood.names.length === 0 && table !== undefined && document.turnId === turnId
      ? [{ document, query, table }]
      : []
  })
  const [first] = asked
  if (!first || asked.length > 1 || !canCall(situation, execTool) || calls.some(({ toolId }) => toolId === execTool)) return undefined
  return {
    kind: 'call',
    thinking: `${first.document.name} is a table, so I let a program reckon.`,
    notes: planProgress(announced.plan, 'Find', `I run a program over ${first.document.name}.`),
    toolId: execTool,
    params: { contract: [{ filename: 'outputs/answer.json', description: 'the answer, with its rows', visibility: 'internal' }] },
    code: writeProgram(first.query, { table: first.table, answer: `${turnId}/outputs/answer.json` }),
  }
}

/** What the program wrote, if it did. */
export function readProgramResult({ calls }: Situation): ProgramResult | undefined {
  const results = calls.find(({ toolId }) => toolId === execTool)?.results ?? []
  const written = results.find(({ path }) => path?.endsWith('.outputs/answer.json') === true)
  const parsed = ProgramResult.safeParse(parseJson(written?.body.replace(/^mime: .*\npayload:\n/, '')))
  return parsed.success ? parsed.data : undefined
}
