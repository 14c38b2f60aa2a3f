import { cutAt } from '../../core/cut.ts'
import { caps } from '../../core/render/caps.ts'
import { type AttachmentLimits, type Refusal, refusal } from './upload.ts'

/** How uploaded files are checked: limits, and functions of the application that examine each file. */
export interface AttachmentPolicy {
  readonly limits?: Partial<AttachmentLimits>
  /** Scans a file for malicious software. Without a scanner, files are not scanned. */
  readonly scan?: Scanner
  /** Whether to accept a file that could not be scanned in time. The default is `refuse`. */
  readonly unscanned?: 'refuse' | 'accept'
  readonly summarise?: Summariser
}

/** Scans a file for malicious software. Throws when the scan is not possible. */
export type Scanner = (
  bytes: Uint8Array,
  options: { readonly signal: AbortSignal },
) => Promise<{ readonly clean: true } | { readonly clean: false; readonly found?: string }>

/** Writes a short description of a file. The agent reads it before it opens the file. At most 2,400 characters are stored. */
export type Summariser = (
  file: { readonly name: string; readonly mime: string; readonly bytes: Uint8Array },
  options: { readonly signal: AbortSignal },
) => Promise<string>

/** Reports an error to the operator. The user who sent the file does not see it. */
export type ReportProblem = (where: string, error: unknown) => void

const scanTimeoutMs = 3_000
const summaryTimeoutMs = 30_000

/** Scans a file. Returns the reason why it is rejected, or undefined if it is accepted. */
export async function scanFile(
  { scan, unscanned = 'refuse' }: Pick<AttachmentPolicy, 'scan' | 'unscanned'>,
  bytes: Uint8Array,
  report: ReportProblem,
): Promise<Refusal | undefined> {
  if (!scan) return undefined
  try {
    const result = await withTimeout(scanTimeoutMs, (signal) => scan(bytes, { signal }))
    return result.clean ? undefined : refusal('infected', `contains malicious software${result.found ? ` (${result.found})` : ''}`)
  } catch (error) {
    report('attachment scan', error)
    return unscanned === 'accept' ? undefined : { reason: 'preflight_error', words: 'could not be scanned in time. Send it again later' }
  }
}

/** The summary of a file. Undefined when there is no summariser or when it failed. The message is accepted even if the summariser fails. */
export async function summariseFile(
  summarise: Summariser | undefined,
  { name, mime, bytes }: { readonly name: string; readonly mime: string; readonly bytes: Uint8Array },
  report: ReportProblem,
): Promise<string | undefined> {
  if (!summarise) return undefined
  try {
    const text = await withTimeout(summaryTimeoutMs, (signal) => summarise({ name, mime, bytes }, { signal }))
    return text.trim() === '' ? undefined : cutAt(text.trim(), caps.attachmentSummary)
  } catch (error) {
    report('attachment summary', error)
    return undefined
  }
}

/** Runs a function with a time limit. Rejects after `ms` milliseconds, even if the function ignores its signal. */
async function withTimeout<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException(`Not done within ${ms} ms.`, 'TimeoutError')
      controller.abort(error)
      reject(error)
    }, ms)
  })
  try {
    return await Promise.race([work(controller.signal), timeout])
  } finally {
    clearTimeout(timer)
  }
}
