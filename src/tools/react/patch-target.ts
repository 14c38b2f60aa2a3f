import { Failure } from '../../core/failure.ts'
import { filePath } from '../../core/path/build.ts'
import { type Area, parseUnsafePath } from '../../core/path/logical.ts'
import { splitPhysical } from '../../core/path/physical.ts'
import { normalizeTarget, type Target } from '../../core/path/target.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { failed } from '../outcome.ts'
import type { Call, Outcome } from '../tool.ts'

/** The file that a patch is for, and the text it has now. */
export interface PatchTarget {
  readonly ok: true
  readonly physical: string
  readonly logical: string
  readonly rewrite?: { readonly original: string; readonly normalized: string; readonly notify: boolean }
  /** Where the text was taken from: another turn's file when this turn has none of that name. */
  readonly from: string
  readonly text: string
  /** The file begins with a byte order mark, which is not part of its first line. */
  readonly marked: boolean
}

/** More is not patched. */
const largestTarget = 10 * 1024 * 1024

/** Finds what is to be patched. Files of earlier turns are read and never changed: what becomes of them is written into this turn. */
export async function openTarget(path: string, call: Call): Promise<PatchTarget | Outcome> {
  const turns = new Set(knownTurns(call.timeline)).add(call.place.turnId)
  const named = namedFile(path.normalize('NFC'), turns)
  if (named?.area === 'attachments')
    return failed('patch_unsupported_namespace', 'Attachments cannot be changed. Write a new file, and name the attachment in it.')
  if (named?.elsewhere) return failed('invalid_write_logical_path', 'A file of another conversation cannot be patched.')
  const target = normalizeTarget(path, { currentTurn: call.place.turnId, knownTurns: turns })
  if (!target.ok) return failed(target.code, target.message)
  const past = named?.turn === undefined || named.turn === call.place.turnId ? undefined : { ...named, turn: named.turn }
  try {
    return await read(target, past, call)
  } catch (error) {
    return cannotRead(target.physical, error)
  }
}

interface Named {
  readonly turn?: string
  readonly area: Area
  readonly rel: string
  readonly elsewhere?: boolean
}

/** The turn and the area that a path names, if it names them. */
function namedFile(path: string, turns: ReadonlySet<string>): Named | undefined {
  const logical = parseUnsafePath(path)
  if (logical?.space === 'fi' && logical.kind === 'file') return { ...logical, elsewhere: logical.conversation !== undefined }
  if (path.startsWith('attachments/')) return { area: 'attachments', rel: path.slice('attachments/'.length) }
  return splitPhysical(path, turns)
}

async function read(
  target: Target & { ok: true },
  past: (Named & { turn: string }) | undefined,
  call: Call,
): Promise<PatchTarget | Outcome> {
  const { files } = await call.workspace()
  const here = await files.read(target.physical, { maxBytes: largestTarget })
  if (here !== undefined) return opened(target, target.logical, here)
  if (!past)
    return failed(
      'patch_target_missing',
      `${target.physical} does not exist in this turn. Write it with react.write, or name the turn that has it, such as fi:<turn>.files/…`,
    )
  const from = filePath(past.turn, past.area, past.rel)
  const there = await files.read(`${past.turn}/${past.area}/${past.rel}`, { maxBytes: largestTarget })
  if (there !== undefined) return opened(target, from, there)
  return failed('patch_requires_pull', `${from} is not on this machine. Pull it first, then send the patch again.`, {
    details: { pull_hint: { tool_id: 'react.pull', params: { paths: [from] } } },
  })
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const byteOrderMark = '\ufeff'

function opened(target: Target & { ok: true }, from: string, bytes: Uint8Array): PatchTarget | Outcome {
  try {
    const text = strict.decode(bytes)
    const marked = text.startsWith(byteOrderMark)
    return { ...target, from, text: marked ? text.slice(1) : text, marked }
  } catch {
    return failed('patch_target_unreadable', `${from} is not text in UTF-8. Make a new file instead.`)
  }
}

/** A tool that could not: the agent reads why, and the turn goes on. */
function cannotRead(physical: string, error: unknown): Outcome {
  if (!(error instanceof Failure)) return failed('patch_target_unreadable', `${physical} could not be read. Try again.`)
  if (error.code === 'workspace.missing')
    return failed('workspace_missing', 'This agent has no workspace, so there is nothing to patch. Say it in the answer.')
  const reason = typeof error.details.reason === 'string' ? error.details.reason : 'unreadable'
  if (error.code !== 'file.unsafe' || reason === 'too_large')
    return failed('patch_target_unreadable', `${physical} could not be read (${reason}).`, { details: { reason } })
  return failed('unsafe_path', `${physical} cannot be patched (${reason}). Use another path.`, { details: { reason } })
}

/** The text as the file holds it. */
export const bytesFor = ({ marked }: Pick<PatchTarget, 'marked'>, text: string): Uint8Array =>
  Buffer.from(marked ? `${byteOrderMark}${text}` : text)
