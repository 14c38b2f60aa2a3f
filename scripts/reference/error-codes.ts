import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callViolations, planViolations, responseViolations } from '../../src/core/decision/violations.ts'
import type { FailureCode } from '../../src/core/failure.ts'
import { problemStatuses, type RequestCode } from '../../src/server/problem.ts'

export type { FailureCode, RequestCode }

/** The status of the HTTP response for each failure. */
export const statusOf = problemStatuses

/** Folders whose codes are in blocks of a timeline: errors of tool calls, and notices for the model. */
const folders = ['src/agent', 'src/core/block', 'src/core/decision', 'src/core/hide', 'src/core/plan', 'src/tools']

/** How the sources write a code. `prefix` is put before the code that the pattern finds. */
const patterns: readonly { readonly pattern: RegExp; readonly prefix: string }[] = [
  { pattern: /\b(?:failed|refuse|programRefusal)\(\s*'([a-z_.]+)'/g, prefix: '' },
  { pattern: /\bprogramRefusal\(\s*'([a-z_]+)'/g, prefix: 'protocol_violation.' },
  { pattern: /'(hide_(?:before_cache|too_old|not_found))'/g, prefix: '' },
  { pattern: /\bconst code = '([a-z_]+)'/g, prefix: '' },
  { pattern: /\bcode: '([a-z_.]+)'/g, prefix: '' },
  { pattern: /'(protocol_violation\.[a-z_]+)'/g, prefix: '' },
  { pattern: /\bviolation\(\s*['`]([a-z_]+)/g, prefix: 'protocol_violation.' },
  { pattern: /\bwarning\(\s*'([a-z_]+)'/g, prefix: 'protocol_warning.' },
]

/** Codes that the patterns find but that the page leaves out, because they are not in a timeline or because another page describes them. */
const elsewhere: ReadonlySet<string> = new Set([
  ...['declined', 'invalid', 'not_asked'], // codes of a refusal of structured output: docs/sdk.md
  ...['missing_param', 'wrong_type', 'unknown_param', 'unknown_tool_id', 'bad_params'], // details of a notice
  ...['json.missing', 'json.multiple', 'json.unexpected'], // problems of JSON, which a notice explains
  ...planViolations, // the plan adds the prefix `protocol_violation.`
])

/** The codes of tool calls and notices that the sources can write. */
export function timelineCodes(): readonly string[] {
  const found = new Set<string>([...responseViolations, ...callViolations, ...planViolations].map((code) => `protocol_violation.${code}`))
  for (const folder of folders)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts') || name.endsWith('.test.ts') || name.startsWith('attachments')) continue
      const source = readFileSync(join(folder, name), 'utf8')
      for (const { pattern, prefix } of patterns) for (const [, code = ''] of source.matchAll(pattern)) found.add(`${prefix}${code}`)
    }
  const failures: ReadonlySet<string> = new Set(Object.keys(statusOf))
  return [...found].filter((code) => !elsewhere.has(code) && !failures.has(code)).sort()
}
