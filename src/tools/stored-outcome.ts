import { type BlobRef, type Block, blobRefsOf, type Draft } from '../core/block/index.ts'
import { cutAt } from '../core/cut.ts'
import { isObject } from '../core/json.ts'
import type { StoredOutcome } from '../core/timeline/change.ts'
import type { BlobStore } from '../ports/blobs.ts'
import { createOutcome, MAX_NOTE_CHARS } from './outcome.ts'
import type { LateResult, MadeArtifact, Outcome } from './tool.ts'

/** An outcome for the change `call.finished`, and the blobs to which it refers. */
export interface StorableOutcome {
  readonly outcome: StoredOutcome
  readonly keeps?: readonly BlobRef[]
}

/**
 * Makes an outcome storable as JSON. The bytes of its artifacts are stored as blobs. Throws when the outcome can not be written as JSON.
 */
export async function storeOutcome({ artifacts, ...outcome }: Outcome, blobs: Pick<BlobStore, 'put'>): Promise<StorableOutcome> {
  const stored = artifacts && (await Promise.all(artifacts.map((artifact) => storeArtifact(artifact, blobs))))
  const drafts = [...(outcome.drafts ?? []), ...(outcome.after ?? [])]
  const keeps = [...drafts.flatMap(blobsOfDraft), ...(stored ?? []).flatMap(blobsOfArtifact)]
  const text = JSON.stringify({ ...outcome, ...(stored && { artifacts: stored }) })
  // the cast is safe, because the text was made from an outcome
  return { outcome: JSON.parse(text) as StoredOutcome, ...(keeps.length > 0 && { keeps }) }
}

/** An artifact as JSON. `bytes` refers to the blob with its content. */
interface StoredArtifact extends Omit<MadeArtifact, 'bytes' | 'withoutContent' | 'isPatch'> {
  readonly bytes?: BlobRef
  readonly without_content?: true
  readonly is_patch?: true
}

async function storeArtifact(artifact: MadeArtifact, blobs: Pick<BlobStore, 'put'>): Promise<StoredArtifact> {
  const { bytes, withoutContent, isPatch, ...rest } = artifact
  return {
    ...rest,
    ...(bytes && { bytes: await blobs.put(bytes) }),
    ...(withoutContent && { without_content: true }),
    ...(isPatch && { is_patch: true }),
  }
}

// the cast is safe, because `blobRefsOf` does not read the id of a block
const blobsOfDraft = (draft: Draft): readonly BlobRef[] => blobRefsOf(draft as unknown as Block)
const blobsOfArtifact = ({ bytes, blob }: StoredArtifact): readonly BlobRef[] => [...(bytes ? [bytes] : []), ...(blob ? [blob] : [])]

/** The outcome that `storeOutcome` stored. Undefined when the entry has another form, or when a blob of it is missing. */
export async function restoreOutcome(stored: StoredOutcome, blobs: Pick<BlobStore, 'get'>): Promise<Outcome | undefined> {
  if (!isStoredOutcome(stored)) return undefined
  const { artifacts, ...outcome } = stored
  try {
    const made = artifacts && (await Promise.all(artifacts.map((artifact) => restoreArtifact(artifact, blobs))))
    return createOutcome({ ...outcome, ...(made && { artifacts: made }) })
  } catch {
    return undefined // the bytes are lost, so the result of the call is lost, too
  }
}

async function restoreArtifact(artifact: StoredArtifact, blobs: Pick<BlobStore, 'get'>): Promise<MadeArtifact> {
  const { bytes, without_content, is_patch, ...rest } = artifact
  return {
    ...rest,
    ...(bytes && { bytes: await blobs.get(bytes.sha256) }),
    ...(without_content && { withoutContent: true as const }),
    ...(is_patch && { isPatch: true as const }),
  }
}

type ReadableOutcome = Omit<Outcome, 'artifacts'> & { readonly artifacts?: readonly StoredArtifact[] }

function isStoredOutcome(stored: StoredOutcome): stored is StoredOutcome & ReadableOutcome {
  const { error, artifacts } = stored
  const hasLists = ['notices', 'artifacts', 'drafts', 'after', 'changes', 'sources'].every((name) => isListOfObjects(stored[name]))
  const hasError = error === undefined || (isObject(error) && typeof error.code === 'string' && typeof error.message === 'string')
  return hasLists && hasError && ((artifacts ?? []) as readonly { readonly digest?: unknown }[]).every(({ digest }) => isObject(digest))
}

const isListOfObjects = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.every(isObject))

/** The outcome with the record of the sub-agent from the outcome `done`. The record is needed to count the cost of the sub-agent. */
export const withChild = (outcome: Outcome, done: Outcome | undefined): Outcome =>
  done?.child ? createOutcome({ ...outcome, child: done.child }) : outcome

/** The outcome of a call that waits for a sub-agent. The call runs again at `expiresAt`, or when an event for the sub-agent has arrived. */
export const childWaits = (child: string, { note, expiresAt }: LateResult): Outcome =>
  createOutcome({
    ok: true,
    later: { child, ...(note !== undefined && { note: cutAt(note, MAX_NOTE_CHARS) }), ...(expiresAt !== undefined && { expiresAt }) },
  })
