import { cutAt } from '../../core/cut.ts'
import { caps } from '../../core/render/caps.ts'
import { type AttachmentLimits, type Refusal, refusal } from './upload.ts'

/** How uploads are treated. It consists of limits and of functions of the application that look at each file. */
export interface AttachmentPolicy {
  readonly limits?: Partial<AttachmentLimits>
  /** Scans for malicious software. Without a scanner, files are not scanned. */
  readonly scan?: Scanner
  /** What happens to a file that could not be scanned in time. Default: refuse. */
  readonly unscanned?: 'refuse' | 'accept'
  readonly summarise?: Summariser
}

/** Looks for malicious software. Throws when the scan is not possible. */
export type Scanner = (
  bytes: Uint8Array,
  options: { readonly signal: AbortSignal },
) => Promise<{ readonly clean: true } | { readonly clean: false; readonly found?: string }>

/** Writes a short description of a file, which the agent reads before it opens the file. At most 2,400 characters are kept. */
export type Summariser = (
  file: { readonly name: string; readonly mime: string; readonly bytes: Uint8Array },
  options: { readonly signal: AbortSignal },
) => Promise<string>

/** Reports an error to the operator. The user who sent the file does not see it. */
export type ReportProblem = (where: string, error: unknown) => void

const scanTimeoutMs = 3_000
const summaryTimeoutMs = 30_000

/** Scans a file. Returns the reason to refuse it, or undefined. */
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

/** The summary of a file. Undefined when there is no summariser or when it failed. A failure never rejects a message. */
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

/** Runs the work with a time limit. Rejects when the time is up, even if the work ignores its signal. */
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
