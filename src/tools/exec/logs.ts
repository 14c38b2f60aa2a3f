import { cutEnd } from '../../core/cut.ts'
import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import type { SandboxReport } from '../../ports/sandbox.ts'

/** The end of a text, with at most `length` characters. A text that was cut begins with `…`. */
export const tailOf = (text: string, length: number): string => (text.length <= length ? text : `…${cutEnd(text, length - 1)}`)

/** How many bytes a log file may have. When it would have more, its beginning is removed. */
const maxLogBytes = 1024 * 1024

/**
 * Appends the output of a run to `logs/user.log`, and the messages of the sandbox to `logs/infra.log`. Both files are in the folder of the
 * runtime, where programs can not reach them.
 */
export async function writeLogs(
  runtime: Files,
  run: { readonly execId: string; readonly startedAt: string },
  { log, sandboxLog, logBytesDropped }: SandboxReport,
  ending: string,
): Promise<void> {
  const banner = `===== EXECUTION ${run.execId} START ${run.startedAt} =====`
  const dropped = logBytesDropped === 0 ? '' : `[${logBytesDropped} more bytes of output were dropped]`
  await Promise.all([
    appendLog(runtime, 'logs/user.log', [banner, log, dropped]),
    appendLog(runtime, 'logs/infra.log', [banner, sandboxLog, ending]),
  ])
}

async function appendLog(runtime: Files, path: string, lines: readonly string[]): Promise<void> {
  const added = `${lines.filter((line) => line !== '').join('\n')}\n`
  const all = Buffer.concat([await readLog(runtime, path), Buffer.from(added)])
  await runtime.write(path, all.subarray(Math.max(0, all.length - maxLogBytes)), { durable: false })
}

/** The bytes of a log file. Empty if the file does not exist or can not be read. In this case a new file is written. */
async function readLog(runtime: Files, path: string): Promise<Uint8Array> {
  try {
    return (await runtime.read(path, { maxBytes: 4 * maxLogBytes })) ?? new Uint8Array()
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe') return new Uint8Array()
    throw error
  }
}

const maxErrorLine = 400

/**
 * Matches the line of a log that names an exception, such as `ValueError: no rows`, `Error: no rows`, `TypeError [ERR_INVALID_ARG_TYPE]: no
 * path` or `Uncaught RangeError: too far`.
 */
const exceptionLine =
  /^(?:uncaught )?(?:(?:[a-z_][\w.]{0,80})?(?:error|exception)|[a-z_][\w.]{0,80}(?:interrupt|exit))(?: \[\w{1,80}\])?(?::|$)/i

/** Python writes one of these lines, then indented lines, then the exception. The exception can have any name, such as `StopIteration`. */
const tracebackTitles: readonly string[] = ['Traceback (most recent call last):', '  + Exception Group Traceback (most recent call last):']
const groupIndent = '  | '
/** Matches the exception after the indented lines. */
const pythonException = /^[a-z_][\w.]{0,200}(?::|$)/i

/** The last line of a log that names an exception. Undefined when there is none. */
export function lastException(log: string): string | undefined {
  const lines = log.split('\n')
  const named = lines.findLastIndex((line) => exceptionLine.test(line.slice(0, maxErrorLine)))
  const traced = exceptionOfTraceback(lines)
  const line = (traced && traced.index > named ? traced.line : lines[named])?.trim()
  return line === undefined || line.length <= maxErrorLine ? line : `${line.slice(0, maxErrorLine)}…`
}

/** The exception of the last traceback. Undefined when there is none, or when the program was ended while it wrote the traceback. */
function exceptionOfTraceback(lines: readonly string[]): { readonly line: string; readonly index: number } | undefined {
  const title = lines.findLastIndex((line) => tracebackTitles.includes(line))
  if (title === -1) return undefined
  const withoutIndent = (line: string) => (line.startsWith(groupIndent) ? line.slice(groupIndent.length) : line)
  const index = lines.findIndex((line, at) => at > title && !withoutIndent(line).startsWith(' '))
  const line = withoutIndent(lines[index] ?? '')
  return pythonException.test(line.slice(0, maxErrorLine)) ? { line, index } : undefined
}
