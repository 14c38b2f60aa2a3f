import { caps } from '../../core/render/caps.ts'
import { type ReportProblem, withTimeout } from './policy.ts'

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
