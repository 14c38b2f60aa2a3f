import { type Refusal, refused } from './upload.ts'

/** Looks for malicious software in bytes. Throws when it can not tell. */
export type Scanner = (
  bytes: Uint8Array,
  options: { readonly signal: AbortSignal },
) => Promise<{ readonly clean: true } | { readonly clean: false; readonly found?: string }>

/** Tells the owner of the agent what whoever sent the file need not know. */
export type Report = (where: string, error: unknown) => void

const scanMs = 3_000

interface Scanning {
  readonly scan?: Scanner
  readonly unscanned?: 'refuse' | 'accept'
}

/** Undefined when nothing was found, nobody looks, or not being able to look is no reason. */
export async function scanned({ scan, unscanned = 'refuse' }: Scanning, bytes: Uint8Array, report: Report): Promise<Refusal | undefined> {
  if (!scan) return undefined
  try {
    const result = await within(scanMs, (signal) => scan(bytes, { signal }))
    return result.clean ? undefined : refused('infected', `holds malicious software${result.found ? ` (${result.found})` : ''}`)
  } catch (error) {
    report('attachment scan', error)
    return unscanned === 'accept' ? undefined : { reason: 'preflight_error', words: 'could not be scanned in time. Send it again later' }
  }
}

/** Whoever does not stop when the time is up is left behind. */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
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
