import { callViolations } from '../../src/core/decision/violations.ts'
import type { FailureCode } from '../../src/core/failure.ts'
import { problemStatuses, type RequestCode } from '../../src/server/problem.ts'
import { type CodeFields, readCodeFields } from './code-fields.ts'
import { requestTexts } from './failure-texts.ts'
import { renderingTexts } from './tool-error-texts.ts'

export type { FailureCode, RequestCode }

/** The status of the HTTP response for each failure. */
export const statusOf = problemStatuses

/** Codes by the file that writes them. The page leaves them out, because they are not in a timeline. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  'src/adapters/store/postgres/database.ts': ['25006'], // a code of PostgreSQL
  'src/adapters/workspace/checkout.ts': ['failed', 'missing', 'nonempty', 'unavailable'], // `react.checkout` has codes of its own for them
  'src/agent/hooks.ts': ['DAYBOOK_ON_PROBLEM'], // the code of a warning of Node.js
  'src/agent/recovery/resume-turn.ts': [''],
  // codes of a refusal of structured output, which docs/sdk.md describes, and a problem of JSON, which a notice explains
  'src/agent/turn/output.ts': [
    ...['cancelled', 'declined', 'error', 'invalid', 'limit', 'not_asked', 'stopped', 'waiting'],
    'json.unexpected',
  ],
  'src/core/stream/json/parse.ts': ['json.multiple'],
  'src/core/stream/json/reader.ts': ['json.missing', 'json.too_deep', 'json.unexpected', 'json.unfinished'],
  'src/server/events/ag-ui.ts': ['resync', 'shutdown'], // why a stream ended
}

/** The codes of each expression whose value is known only when it runs. An expression that passes on the code of another one has none. */
const computed: Readonly<Record<string, readonly string[]>> = {
  'src/adapters/model/service-error.ts: inner.code ?? outer.code': [], // the code of a model provider
  'src/agent/replay/recorded-world.ts: code': [],
  'src/agent/turn/several-calls.ts: violation.code': [],
  'src/cli/commands/waiting.ts: failed': [], // the code that a person reports
  'src/client/view/turn-view.ts: code': [],
  'src/core/decision/check-call.ts: code': callViolations.map((code) => `protocol_violation.${code}`),
  'src/core/decision/violations.ts: value': ['protocol_violation.invalid_action'], // the value is the action after a colon
  'src/core/effects/effects.ts: code': [],
  'src/core/view/read-block.ts: String(error.code)': [],
  'src/core/view/read-block.ts: notice.code': [],
  'src/core/view/user-blocks.ts: notice.code': [],
  'src/server/events/ag-ui.ts: exitReason': [], // why a turn ended
  "src/tools/artifacts/deliver.ts: toolId.startsWith('react.') ? `${toolId}.hosting_failed` : 'delivery_failed.file_hosting'": [
    ...['react.patch.hosting_failed', 'react.write.hosting_failed'], // the built-in tools that hand files over
    'delivery_failed.file_hosting',
  ],
  'src/tools/exec/report.ts: cause.code': [],
  'src/tools/exec/tool-calls.ts: error.code': [],
  'src/tools/outcome.ts: error.code': [],
  "src/tools/outcome.ts: text('code') ?? 'tool_error'": ['tool_error'], // the code of a tool that the application defines
  'src/tools/react/checkout.ts: code': [],
  'src/tools/react/plan.ts: change.violation.code': [],
  'src/tools/references.ts: refusal.code': [],
  'src/tools/rendering/write-document.ts: shown': Object.keys(renderingTexts),
}

/** The codes of tool calls and notices that the sources can write. The helpers for tests are left out. */
export const timelineCodes = (): readonly string[] =>
  codesIn(readCodeFields('tsconfig.build.json', (file) => !file.startsWith('src/testing/')))

/** Throws if a code is computed in a way that is not listed here, or if something is listed that the sources do not have. */
export function codesIn(fields: CodeFields): readonly string[] {
  const unknown = [...fields.computed].filter((expression) => !Object.hasOwn(computed, expression))
  if (unknown.length > 0) throw new Error(`list the codes of ${unknown.join(' and ')} in scripts/reference/error-codes.ts`)
  const left = Object.entries(elsewhere).flatMap(([file, codes]) => codes.map((code) => ({ file, code })))
  const gone = [
    ...Object.keys(computed).filter((expression) => !fields.computed.has(expression)),
    ...left.filter(({ file, code }) => !fields.codes.get(code)?.has(file)).map(({ file, code }) => `${file}: ${code}`),
  ]
  if (gone.length > 0) throw new Error(`scripts/reference/error-codes.ts lists ${gone.join(' and ')}, which does not exist`)
  const written = [...fields.codes].flatMap(([code, files]) =>
    [...files].every((file) => elsewhere[file]?.includes(code)) || Object.hasOwn(statusOf, code) || Object.hasOwn(requestTexts, code)
      ? []
      : [code],
  )
  return [...new Set([...written, ...Object.values(computed).flat()])].sort()
}
