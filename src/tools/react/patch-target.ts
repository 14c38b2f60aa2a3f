import { Failure } from '../../core/failure.ts'
import { filePath } from '../../core/path/build.ts'
import { type Area, parsePathUnchecked } from '../../core/path/logical.ts'
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
  readonly hasByteOrderMark: boolean
}

/** More is not patched. */
const maxTargetBytes = 10 * 1024 * 1024

/** Finds what is to be patched. Files of earlier turns are read and never changed: what becomes of them is written into this turn. */
export async function openTarget(path: string, call: Call): Promise<PatchTarget | Outcome> {
  const turns = new Set(knownTurns(call.timeline)).add(call.origin.turnId)
  const named = parseTargetPath(path.normalize('NFC'), turns)
  if (named?.area === 'attachments')
    return failed('patch_unsupported_namespace', 'Attachments cannot be changed. Write a new file, and name the attachment in it.')
  if (named?.elsewhere) return failed('invalid_write_logical_path', 'A file of another conversation cannot be patched.')
  const target = normalizeTarget(path, { currentTurn: call.origin.turnId, knownTurns: turns })
  if (!target.ok) return failed(target.code, target.message)
  const past = named?.turn === undefined || named.turn === call.origin.turnId ? undefined : { ...named, turn: named.turn }
  try {
    return await readTarget(target, past, call)
  } catch (error) {
    return readFailure(target.physical, error)
  }
}

interface NamedFile {
  readonly turn?: string
  readonly area: Area
  readonly rel: string
  readonly elsewhere?: boolean
}

/** The turn and the area that a path names, if it names them. */
function parseTargetPath(path: string, turns: ReadonlySet<string>): NamedFile | undefined {
  const logical = parsePathUnchecked(path)
  if (logical?.space === 'fi' && logical.kind === 'file') return { ...logical, elsewhere: logical.conversation !== undefined }
  if (path.startsWith('attachments/')) return { area: 'attachments', rel: path.slice('attachments/'.length) }
  return splitPhysical(path, turns)
}

async function readTarget(
  target: Target & { ok: true },
  past: (NamedFile & { turn: string }) | undefined,
  call: Call,
): Promise<PatchTarget | Outcome> {
  const { files } = await call.workspace()
  const here = await files.read(target.physical, { maxBytes: maxTargetBytes })
  if (here !== undefined) return decodeTarget(target, target.logical, here)
  if (!past)
    return failed(
      'patch_target_missing',
      `${target.physical} does not exist in this turn. Write it with react.write, or name the turn that has it, such as fi:<turn>.files/…`,
    )
  const from = filePath(past.turn, past.area, past.rel)
  const there = await files.read(`${past.turn}/${past.area}/${past.rel}`, { maxBytes: maxTargetBytes })
  if (there !== undefined) return decodeTarget(target, from, there)
  return failed('patch_requires_pull', `${from} is not on this machine. Pull it first, then send the patch again.`, {
    details: { pull_hint: { tool_id: 'react.pull', params: { paths: [from] } } },
  })
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const byteOrderMark = '\ufeff'

function decodeTarget(target: Target & { ok: true }, from: string, bytes: Uint8Array): PatchTarget | Outcome {
  try {
    const text = strictUtf8.decode(bytes)
    const marked = text.startsWith(byteOrderMark)
    return { ...target, from, text: marked ? text.slice(1) : text, hasByteOrderMark: marked }
  } catch {
    return failed('patch_target_unreadable', `${from} is not text in UTF-8. Make a new file instead.`)
  }
}

/** A tool that could not: the agent reads why, and the turn goes on. */
function readFailure(physical: string, error: unknown): Outcome {
  if (!(error instanceof Failure)) return failed('patch_target_unreadable', `${physical} could not be read. Try again.`)
  if (error.code === 'workspace.missing')
    return failed('workspace_missing', 'This agent has no workspace, so there is nothing to patch. Say it in the answer.')
  const reason = typeof error.details.reason === 'string' ? error.details.reason : 'unreadable'
  if (error.code !== 'file.unsafe' || reason === 'too_large')
    return failed('patch_target_unreadable', `${physical} could not be read (${reason}).`, { details: { reason } })
  return failed('unsafe_path', `${physical} cannot be patched (${reason}). Use another path.`, { details: { reason } })
}

/** The text as the file holds it. */
export const encodeTarget = ({ hasByteOrderMark: marked }: Pick<PatchTarget, 'hasByteOrderMark'>, text: string): Uint8Array =>
  Buffer.from(marked ? `${byteOrderMark}${text}` : text)
