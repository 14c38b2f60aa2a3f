import { createHash } from 'node:crypto'
import { setImmediate as pause } from 'node:timers/promises'
import { type Block, blobRefsOf, toolResultBlock } from '../../../core/block/index.ts'
import { errorMessage, Failure } from '../../../core/failure.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { type Bundle, importChanges, parseBundle } from '../../../core/timeline/bundle.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { bundleOfJournal } from '../../../core/timeline/journal-bundle.ts'
import { assignIds, blocksOfTurn, type Timeline } from '../../../core/timeline/timeline.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import { newBlockNumbers, validateChange } from './validation/validate.ts'

/** The whole conversation as one JSON value. `journal` has all changes; `current` is the result of applying all of them. */
export async function exportBundle(
  conversationId: string,
  journal: readonly Change[],
  current: Timeline,
  blobs: BlobStore,
): Promise<Bundle> {
  const ended = endWaitingCalls(current)
  const changes = [...journal, ...ended]
  const timeline = ended.reduce(applyChange, current)
  const bundle = bundleOfJournal(conversationId, changes, timeline)
  return { ...bundle, blobs: await inlineBlobs(bundle, blobs) }
}

/**
 * The changes that give a result to each call of a turn that waits. A copy of the conversation does not wait. Without these changes, the
 * calls would never get a result in the copy.
 */
function endWaitingCalls(timeline: Timeline): readonly Change[] {
  const { openTurn, lastTs } = timeline
  if (!openTurn?.waits) return []
  const blocks = blocksOfTurn(timeline, openTurn.turn_id)
  const answered = new Set(blocks.flatMap(({ type, call_id }) => (type === 'react.tool.result' ? [call_id] : [])))
  const calls = blocks.filter(({ type, call_id }) => type === 'react.tool.call' && !answered.has(call_id))
  const results = calls.map(({ turn_id: turnId, call_id: callId = '', meta, ts }) =>
    toolResultBlock(
      { turnId, callId, iteration: meta?.iteration ?? 0, ts: lastTs ?? ts },
      { mime: 'application/json', text: notCarriedOver },
    ),
  )
  return results.length === 0 ? [] : [{ type: 'blocks.appended', blocks: assignIds(timeline, results) }]
}

const notCarriedOver = JSON.stringify({
  ok: false,
  status: 'error',
  error: { code: 'not_carried_over', message: 'This conversation is a copy. In the original, the call waits. Here it has no result.' },
})

/**
 * Returns the changes that import a bundle, and the bytes of the blobs that these changes refer to. The whole bundle is checked; nothing is
 * stored. The changes are divided into slices. The caller handles one slice after the other and lets other work run in between, because
 * otherwise a large bundle would block the process.
 */
export async function unpackBundle(value: unknown): Promise<{
  readonly conversationId: string
  readonly slices: readonly (readonly Change[])[]
  readonly bytes: ReadonlyMap<string, Uint8Array>
}> {
  const bundle = parseBundle(value)
  await pause()
  const bytes = new Map<string, Uint8Array>()
  let decoded = 0
  for (const [sha256, size] of blobReferences(bundle)) {
    const content = decodeBlob(sha256, bundle.blobs[sha256])
    if (content.length !== size) throw invalidBundle(`a block says that blob ${sha256} has ${size} bytes; it has ${content.length}`)
    bytes.set(sha256, content)
    decoded += content.length
    if (decoded > SLICE_BYTES) {
      decoded = 0
      await pause()
    }
  }
  const slices: (readonly Change[])[] = []
  for (const slice of sliceChanges(importChanges(bundle))) {
    slices.push(asBundleFailure(() => slice.map(validateChange)))
    await pause()
  }
  // throws here if a block id is invalid, so that the caller stores no blobs
  asBundleFailure(() => newBlockNumbers(slices.flat(), () => undefined))
  await pause()
  return { conversationId: bundle.conversation_id, slices, bytes }
}

const SLICE_BYTES = 4 * 1024 * 1024
/** The maximum number of changes plus blocks in a slice. A change with more blocks than this is a slice of its own. */
const SLICE_BLOCKS = 500

function sliceChanges(changes: readonly Change[]): readonly (readonly Change[])[] {
  const slices: Change[][] = []
  let room = 0
  for (const change of changes) {
    const size = 1 + blocksOfChange(change).length
    const open = slices.at(-1)
    if (open && size <= room) open.push(change)
    else {
      slices.push([change])
      room = SLICE_BLOCKS
    }
    room -= size
  }
  return slices
}

/** Runs `work`. An error about an invalid change becomes `bundle.invalid`, because the change was made from a bundle. */
export function asBundleFailure<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Failure && (error.code === 'change.invalid' || error.code === 'block.invalid')) {
      throw new Failure('bundle.invalid', error.message, { cause: error, details: error.details })
    }
    throw error
  }
}

/** The size of every blob that the bundle's blocks refer to, by hash. The hashes are sorted. */
function blobReferences({ timeline, turn_logs, archive }: Bundle): ReadonlyMap<string, number> {
  const blocks: readonly Block[] = [...timeline.blocks, ...turn_logs.flatMap((log) => log.blocks), ...archive]
  return new Map(
    blocks
      .flatMap(blobRefsOf)
      .map(({ sha256, size }) => [sha256, size] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

async function inlineBlobs(bundle: Bundle, blobs: BlobStore): Promise<Bundle['blobs']> {
  const inline: Record<string, string> = {}
  for (const sha256 of blobReferences(bundle).keys()) {
    try {
      inline[sha256] = Buffer.from(await blobs.get(sha256)).toString('base64')
    } catch (error) {
      const reason = errorMessage(error)
      throw new Failure('store.damaged', `conversation ${bundle.conversation_id} can not be exported completely: ${reason}`, {
        cause: error,
      })
    }
  }
  return inline
}

function decodeBlob(sha256: string, base64: string | undefined): Uint8Array {
  if (base64 === undefined) throw invalidBundle(`a block refers to blob ${sha256}, which the bundle does not hold`)
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') !== base64) throw invalidBundle(`blob ${sha256} is not base64`)
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw invalidBundle(`the bytes of blob ${sha256} do not match its hash`)
  return bytes
}

const invalidBundle = (message: string) => new Failure('bundle.invalid', message)
