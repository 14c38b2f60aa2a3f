import { Failure } from '../../core/failure.ts'
import type { FrozenTexts } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { BlobStore } from '../../ports/blobs.ts'

/**
 * A part of the system text that may change while the agent runs, such as the tools of MCP servers.
 *
 * A changed system text makes the provider process the whole prompt again. Therefore a turn freezes the text: all prompts of the turn have
 * the same text, and `turn.opened` stores it. A new text is adopted only when the prompt has to be processed again anyway: by the first
 * turn of a conversation, by a turn that starts after the provider's cache has expired, and by a compaction. Until then, the announce tells
 * the model what has changed.
 */
export interface ChangingText {
  /** The current text. The function may have to wait, for example for an MCP server. The promise never rejects. */
  current(): Promise<string>
  /** Sentences for the model about this part, such as what has changed since the text `frozen` was made. */
  remarks(frozen: string): readonly string[]
}

/** The texts that a turn has frozen, by name. */
export type Texts = ReadonlyMap<string, string>

/**
 * After how many seconds Daybook assumes that the cache of a provider has expired, if the rules of the provider do not say how long it
 * lasts. After this time, a changed text is adopted.
 */
const UNKNOWN_TTL_SECONDS = 3_600

/** Whether the provider has to process the next prompt as a whole, so that a changed system text costs nothing extra. */
function isCold({ cache }: Timeline, now: string): boolean {
  if (!cache) return true
  return Date.parse(now) - Date.parse(cache.touched_at) > (cache.ttl_seconds ?? UNKNOWN_TTL_SECONDS) * 1000
}

interface Freezing {
  readonly changing: ReadonlyMap<string, ChangingText>
  readonly blobs: Pick<BlobStore, 'get' | 'put'>
}

/** The texts of a turn that starts now, and their blobs for `turn.opened`. */
export async function freezeTexts(
  { changing, blobs }: Freezing,
  timeline: Timeline,
  now: string,
): Promise<{ readonly texts: Texts; readonly frozen: FrozenTexts }> {
  const texts = new Map<string, string>()
  const frozen: [string, FrozenTexts[string]][] = []
  const cold = isCold(timeline, now)
  for (const [name, part] of changing) {
    const before = cold ? undefined : await readText(timeline.frozen?.[name], blobs)
    const text = before ?? (await part.current())
    texts.set(name, text)
    frozen.push([name, await blobs.put(Buffer.from(text))])
  }
  return { texts, frozen: Object.fromEntries(frozen) }
}

/** The texts that an open turn has frozen. A text that can not be read any more is replaced by the current one. */
export async function frozenTexts({ changing, blobs }: Freezing, { frozen }: Timeline): Promise<Texts> {
  const texts = new Map<string, string>()
  for (const [name, part] of changing) texts.set(name, (await readText(frozen?.[name], blobs)) ?? (await part.current()))
  return texts
}

/** The current texts, if one of them differs from its frozen text. A compaction adopts them. */
export async function changedTexts(
  { changing, blobs }: Freezing,
  texts: Texts,
): Promise<{ readonly texts: Texts; readonly frozen: FrozenTexts } | undefined> {
  const present = new Map<string, string>()
  for (const [name, part] of changing) present.set(name, await part.current())
  if ([...present].every(([name, text]) => texts.get(name) === text)) return undefined
  const frozen: [string, FrozenTexts[string]][] = []
  for (const [name, text] of present) frozen.push([name, await blobs.put(Buffer.from(text))])
  return { texts: present, frozen: Object.fromEntries(frozen) }
}

/** Reads a stored text. Undefined when `ref` is undefined, or when the blob is missing or damaged. */
export async function readText(ref: FrozenTexts[string] | undefined, blobs: Pick<BlobStore, 'get'>): Promise<string | undefined> {
  if (!ref) return undefined
  try {
    return Buffer.from(await blobs.get(ref.sha256)).toString()
  } catch (error) {
    if (error instanceof Failure && error.code.startsWith('blob.')) return undefined
    throw error
  }
}
