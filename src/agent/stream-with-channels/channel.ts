import {
  type BufferingReplacer,
  type CitationReplacerOptions,
  createCitationReplacer,
  type SourceMap,
} from '../../core/citations/replace.ts'
import { errorMessage } from '../../core/failure.ts'
import { describeIssues } from '../../core/standard-schema.ts'
import { isRaw } from '../../core/stream/channel-body.ts'
import { parseModelJson, stripFence } from '../../core/stream/json/parse.ts'
import { citationFormat } from '../../core/stream/lanes-content.ts'
import type { ChannelResult, ChannelSpec, Delta, ParsedPayload } from './types.ts'

/**
 * One channel of a running call. It makes deltas from the channel's text and collects the result. If the response contains the channel
 * several times, each of its sections is called an instance.
 */
export interface ChannelOutput {
  readonly spec: ChannelSpec
  start(): void
  write(text: string): Delta | undefined
  /**
   * Ends an instance of the channel. Returns the text that was not emitted yet because it could have been the start of a citation, and the
   * delta that completes the instance.
   */
  end(closed: 'tag' | 'implied' | 'cut', aborted: boolean): readonly Delta[]
  collect(): Omit<ChannelResult, 'payload' | 'obj' | 'error' | 'repairs'>
}

interface ChannelOutputSettings {
  readonly agent: string
  readonly artifactName?: string
  readonly extra: Delta['extra']
  readonly sources: () => SourceMap
  readonly clock?: () => number
}

export function createChannelOutput(spec: ChannelSpec, settings: ChannelOutputSettings): ChannelOutput {
  const marker = spec.emitMarker ?? 'answer'
  const finished: string[] = []
  const used = new Set<number>()
  const unresolved = new Set<number>()
  const usage = new Set<number>()
  let index = 0
  let body = ''
  /** Text that was received from the model and is not part of a delta yet. */
  let pendingRaw = ''
  let replacer: BufferingReplacer | undefined
  let closed: ChannelResult['closed']
  let startedAt: number | undefined
  let finishedAt: number | undefined

  function delta(text: string, raw: string, completed: boolean, aborted = false): Delta {
    return {
      channel: spec.name,
      instance: finished.length,
      index: index++,
      text,
      raw,
      marker,
      agent: settings.agent,
      format: spec.format,
      ...(settings.artifactName !== undefined && { artifact_name: settings.artifactName }),
      completed,
      ...(aborted && { aborted: true as const }),
      extra: settings.extra,
    }
  }

  /** The raw text of the next delta. The last `held` characters are left out, because they may be the start of a citation. */
  function takeRaw(held: number): string {
    const raw = pendingRaw.slice(0, pendingRaw.length - held)
    pendingRaw = pendingRaw.slice(pendingRaw.length - held)
    return raw
  }

  return {
    spec,
    start() {
      startedAt ??= settings.clock?.()
      closed = undefined
      body = ''
      replacer = replacerFor(spec, settings.sources)
    },
    write(text) {
      body += text
      pendingRaw += text
      const shown = replacer === undefined ? text : replacer.push(text)
      return shown === '' ? undefined : delta(shown, takeRaw(replacer?.held ?? 0), false)
    },
    end(how, aborted) {
      const rest = replacer?.flush() ?? ''
      const last = rest === '' ? [] : [delta(rest, takeRaw(0), false)]
      const completion = delta('', takeRaw(0), true, aborted)
      closed = how
      finishedAt = settings.clock?.()
      finished.push(body)
      addAll(used, replacer?.used)
      addAll(unresolved, replacer?.unresolved)
      addAll(usage, replacer?.usage)
      return [...last, completion]
    },
    collect: () => ({
      raw: finished.join(''),
      instances: finished,
      ...(closed !== undefined && { closed }),
      usedSources: ascending(used),
      unresolvedSources: ascending(unresolved),
      usageSources: ascending(usage),
      ...(startedAt !== undefined && { startedAt }),
      ...(finishedAt !== undefined && { finishedAt }),
    }),
  }
}

/**
 * Returns the replacer for a channel. It replaces citations by links and removes `[[USAGE:…]]`. Undefined when the channel needs none. Raw
 * channels contain code, so by default nothing is replaced in them.
 */
function replacerFor(spec: ChannelSpec, sources: () => SourceMap): BufferingReplacer | undefined {
  const byDefault = !isRaw(spec)
  const replaceCitations = spec.replaceCitations ?? byDefault
  const stripUsage = spec.stripUsage ?? byDefault
  if (isRaw(spec) && !replaceCitations && !stripUsage) return undefined
  const options: CitationReplacerOptions = { format: citationFormat(spec.format), sources, stripUsage, replaceCitations }
  return createCitationReplacer(options)
}

function addAll(set: Set<number>, ids: readonly number[] = []): void {
  for (const id of ids) set.add(id)
}

const ascending = (ids: ReadonlySet<number>): readonly number[] => [...ids].sort((a, b) => a - b)

const structured: ReadonlySet<string> = new Set(['json', 'yaml', 'xml', 'html', 'mermaid'])

/**
 * The result of a channel at the end of the stream. If the channel has a schema, its body is parsed and validated. An invalid body is an
 * error, and the model is not called again.
 */
export async function channelResult(
  channel: ChannelOutput,
  parse: ((payload: string) => ParsedPayload) | undefined,
): Promise<ChannelResult> {
  const collected = channel.collect()
  const { schema, format } = channel.spec
  if (collected.instances.length === 0) return collected
  const payload = structured.has(format) ? stripFence(collected.raw).body : undefined
  const result = { ...collected, ...(payload !== undefined && { payload }) }
  if (schema === undefined) return result
  if (collected.instances.length > 1) return { ...result, error: `multiple_channel_instances:${collected.instances.length}` }
  // The default parser gets the text with its code fence, because it can distinguish a closing fence from a fence inside a string.
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

/** Runs a parser of the application. If it throws, returns the error. */
function tryParse(parse: () => ParsedPayload): ParsedPayload {
  try {
    return parse()
  } catch (error) {
    return { ok: false, error: { message: errorMessage(error) } }
  }
}
