import { errorMessage } from '../core/failure.ts'
import { describeIssues } from '../core/standard-schema.ts'
import { stripFence } from '../core/stream/fence.ts'
import { parseModelJson } from '../core/stream/json-parse.ts'
import type { ChannelLane } from './stream-with-channels/channel.ts'
import type { ChannelResult, ParsedPayload } from './stream-with-channels/types.ts'

const structured: ReadonlySet<string> = new Set(['json', 'yaml', 'xml', 'html', 'mermaid'])

/** What is known of a channel when the stream is over; with a schema, also whether its body kept to it. No model is asked to repair. */
export async function channelResult(lane: ChannelLane, parse: ((payload: string) => ParsedPayload) | undefined): Promise<ChannelResult> {
  const collected = lane.collect()
  const { schema, format } = lane.spec
  if (collected.instances.length === 0) return collected
  const payload = structured.has(format) ? stripFence(collected.raw).body : undefined
  const result = { ...collected, ...(payload !== undefined && { payload }) }
  if (schema === undefined) return result
  if (collected.instances.length > 1) return { ...result, error: `multiple_channel_instances:${collected.instances.length}` }
  // Our own parser takes the fence off by itself, and knows when what looked like its end was not.
  const parsed = parse === undefined ? parseModelJson(collected.raw) : tryParse(() => parse(payload ?? collected.raw))
  if (!parsed.ok) return { ...result, error: parsed.error.message }
  const repairs = parsed.repairs === undefined || parsed.repairs.length === 0 ? {} : { repairs: parsed.repairs }
  try {
    const checked = await schema['~standard'].validate(parsed.value)
    if (checked.issues !== undefined) return { ...result, ...repairs, error: describeIssues(checked.issues) }
    return { ...result, ...repairs, obj: checked.value }
  } catch (error) {
    return { ...result, ...repairs, error: errorMessage(error) }
  }
}

/** A parser that throws says the same as one that returns its error. */
function tryParse(parse: () => ParsedPayload): ParsedPayload {
  try {
    return parse()
  } catch (error) {
    return { ok: false, error: { message: errorMessage(error) } }
  }
}
