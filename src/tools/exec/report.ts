import type { JsonObject } from '../../core/json.ts'
import type { ProgramEnd, SandboxReport } from '../../ports/sandbox.ts'
import type { ExecReport, ToolError } from '../tool.ts'
import type { FileProblem } from './check-file.ts'
import { lastException, tailOf } from './logs.ts'

/** What is known after the run of a program. */
export interface ProgramRun {
  readonly execId: string
  readonly report: SandboxReport
  /** Files of the contract, by physical path. */
  readonly succeeded: readonly string[]
  readonly fileErrors: readonly (FileProblem & { readonly path: string })[]
  /** Files that the contract does not name. `kept` are stored as internal files. `left` only stay in the workspace. */
  readonly undeclared: { readonly kept: readonly string[]; readonly left: readonly string[]; readonly more: number }
  readonly toolCalls: readonly JsonObject[]
}

/** An error of the program itself, in contrast to an error of one of its files. */
interface RuntimeError {
  readonly code: string
  readonly message: string
}

const maxLogTail = 4_000
const maxInfraTail = 12_000

/** The report of a run for the model. It also returns an error if a file is missing or the program failed. */
export function reportOf(run: ProgramRun): { readonly report: ExecReport; readonly error: ToolError | undefined } {
  const runtimeError = runtimeErrorOf(run.report)
  const error = errorOf(run, runtimeError)
  const facts: JsonObject = {
    exec_id: run.execId,
    status: error ? 'error' : 'success',
    runtime_error: runtimeError ? { ...runtimeError } : null,
    file_errors: run.fileErrors.map(({ path, code, message }) => ({ path, code, message })),
    succeeded: [...run.succeeded],
    auto_kept: [...run.undeclared.kept],
    duration_ms: Math.round(run.report.durationMs),
    ...(run.toolCalls.length > 0 && { tool_calls: [...run.toolCalls] }),
  }
  return { report: { text: reportText(run, runtimeError), facts }, error }
}

/** The error of a program by how it ended. Undefined when the program ended normally with exit code 0. */
export function runtimeErrorOf({ end, log }: Pick<SandboxReport, 'end' | 'log'>): RuntimeError | undefined {
  switch (end.kind) {
    case 'exited':
      if (end.exitCode === 0) return undefined
      return { code: 'execution_failed', message: withException(log, `exit code ${end.exitCode}`, 'the program ended') }
    case 'killed':
      return { code: 'execution_failed', message: withException(log, `signal ${end.signal}`, 'the program was killed') }
    case 'limit':
      return { code: end.limit, message: withoutFullStop(end.message) }
    case 'cancelled':
      return { code: 'cancelled', message: 'the program was stopped before it ended' }
    case 'not_started':
      return { code: 'sandbox_execution_failed', message: `${withoutFullStop(end.message)}. ${noDefect}` }
    default:
      return end satisfies never
  }
}

const noDefect = 'This is not a defect in the code: retry once, then probe with a very small program, then stop and say so'

function withoutFullStop(text: string): string {
  const trimmed = text.trim()
  return trimmed.endsWith('.') ? trimmed.slice(0, -1) : trimmed
}

function withException(log: string, how: string, otherwise: string): string {
  const exception = lastException(log)
  return exception === undefined ? `${otherwise} with ${how}` : `${withoutFullStop(exception)} (${how})`
}

function errorOf({ report, fileErrors }: ProgramRun, runtimeError: RuntimeError | undefined): ToolError | undefined {
  const missing = fileErrors.filter(isMissing).map(({ path }) => path)
  const [first] = fileErrors
  const errors = fileErrors.map(({ path, code, message }) => ({ path, code, message }))
  const cause =
    runtimeError ??
    (missing.length > 0
      ? { code: 'missing_output_files', message: `Missing output files: ${missing.join(', ')}` }
      : first && { code: 'artifact_validation_failed', message: `${first.path}: ${first.message}` })
  if (!cause) return undefined
  const details = { missing, errors, run: endFacts(report.end), stderr_tail: tailOf(report.log, maxLogTail) }
  return { where: 'exec.tool', code: cause.code, message: cause.message, details }
}

const isMissing = ({ code }: FileProblem) => code === 'missing_file'

const endFacts = (end: ProgramEnd): JsonObject =>
  end.kind === 'exited' ? { kind: end.kind, exit_code: end.exitCode } : end.kind === 'killed' ? { ...end } : { kind: end.kind }

/** The report in the order: error of the program, errors of files, files, messages of the sandbox, output of the program. */
function reportText(run: ProgramRun, runtimeError: RuntimeError | undefined): string {
  const { report, fileErrors, succeeded, undeclared } = run
  const missing = fileErrors.filter(isMissing).map(({ path }) => path)
  const missingFiles = missing.length > 0 ? `. Missing output files: ${missing.join(', ')}` : ''
  return [
    ...(runtimeError ? [`Runtime error: ${runtimeError.code} — ${runtimeError.message}${missingFiles}`] : []),
    ...section(
      'File errors:',
      fileErrors.map(({ path, message }) => `- ${path}: ${message}`),
    ),
    ...section(
      'Succeeded:',
      succeeded.map((path) => `- ${path}`),
    ),
    ...section('Not in the contract, kept as internal files (not handed over to the user):', listed(undeclared.kept)),
    ...section('Not in the contract, left in the workspace (not handed over to the user):', listed(undeclared.left)),
    ...(undeclared.more > 0 ? [`There are ${undeclared.more} more files that the contract does not name.`] : []),
    ...section('Infra errors (infra.log):', textLines(tailOf(report.sandboxLog.trim(), maxInfraTail))),
    ...section('Program log (tail):', textLines(logTail(report))),
  ].join('\n')
}

const listed = (paths: readonly string[]) => paths.map((path) => `- ${path}`)
const section = (title: string, lines: readonly string[]) => (lines.length === 0 ? [] : [title, ...lines])
const textLines = (text: string) => (text === '' ? [] : [text])

function logTail({ log, logBytesDropped }: SandboxReport): string {
  const tail = tailOf(log.trimEnd(), maxLogTail)
  return logBytesDropped === 0 ? tail : `${tail}\n[${logBytesDropped} more bytes of output were dropped]`
}
