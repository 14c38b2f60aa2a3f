import { caps } from '../../core/render/caps.ts'
import { type Refusal, refusal } from './upload.ts'

/** Looks for malicious software in bytes. Throws when it can not tell. */
export type Scanner = (
  bytes: Uint8Array,
  options: { readonly signal: AbortSignal },
) => Promise<{ readonly clean: true } | { readonly clean: false; readonly found?: string }>

/** Tells the owner of the agent what whoever sent the file need not know. */
export type ReportProblem = (where: string, error: unknown) => void

const scanTimeoutMs = 3_000

interface ScanPolicy {
  readonly scan?: Scanner
  readonly unscanned?: 'refuse' | 'accept'
}

/** Undefined when nothing was found, nobody looks, or not being able to look is no reason. */
export async function scanFile(
  { scan, unscanned = 'refuse' }: ScanPolicy,
  bytes: Uint8Array,
  report: ReportProblem,
): Promise<Refusal | undefined> {
  if (!scan) return undefined
  try {
    const result = await withTimeout(scanTimeoutMs, (signal) => scan(bytes, { signal }))
    return result.clean ? undefined : refusal('infected', `holds malicious software${result.found ? ` (${result.found})` : ''}`)
  } catch (error) {
    report('attachment scan', error)
    return unscanned === 'accept' ? undefined : { reason: 'preflight_error', words: 'could not be scanned in time. Send it again later' }
  }
}

/** Whoever does not stop when the time is up is left behind. */
export async function withTimeout<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new DOMException('The time is up.', 'TimeoutError')
      late.abort(error)
      reject(error)
    }, ms)
  })
  try {
    return await Promise.race([work(late.signal), timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** A few words about a file, for the agent to read before it opens it: at most 600 tokens are kept. */
export type Summariser = (
  file: { readonly name: string; readonly mime: string; readonly bytes: Uint8Array },
  options: { readonly signal: AbortSignal },
) => Promise<string>

const summaryTimeoutMs = 30_000

/** Undefined when there is none. A message never waits for good, and is never refused, for want of a summary. */
export async function summariseFile(
  summarise: Summariser | undefined,
  { name, mime, bytes }: { readonly name: string; readonly mime: string; readonly bytes: Uint8Array },
  report: ReportProblem,
): Promise<string | undefined> {
  if (!summarise) return undefined
  try {
    const text = await withTimeout(summaryTimeoutMs, (signal) => summarise({ name, mime, bytes }, { signal }))
    return text.trim() === '' ? undefined : text.trim().slice(0, caps.attachmentSummary)
  } catch (error) {
    report('attachment summary', error)
    return undefined
  }
}
