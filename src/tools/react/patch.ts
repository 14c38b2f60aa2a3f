import { z } from 'zod'
import type { Notice, Visibility } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { Json } from '../../core/json.ts'
import { type ApplyError, applyPatch, formatPatch, type HunkPlacement } from '../../core/patch/apply.ts'
import { suggestRead } from '../../core/patch/diagnose.ts'
import { hasPreviewNumbers, isDiff, parsePatch } from '../../core/patch/parse.ts'
import { filePath } from '../../core/path/build.ts'
import { type Area, dropOwnConversation, isInOtherConversation, parsePathUnchecked } from '../../core/path/logical.ts'
import { normalizeTarget, splitPhysical, type Target } from '../../core/path/physical.ts'
import { artifactFromBlocks, findArtifact } from '../../core/timeline/artifacts.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { syntaxProblem } from '../artifacts/syntax.ts'
import { defineTool } from '../define.ts'
import { failed, succeeded } from '../outcome.ts'
import { parametersOf } from '../parameters.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { type Audience, channels, kinds, parseAudience, rewriteNotice, textFacts, textMimeOf } from './text-artifact.ts'

const shownParams = z.object({
  path: z
    .string()
    .describe('an existing text file: files/… or outputs/… of this turn, or fi:<turn>.files/… of an earlier one that was pulled'),
  channel: z.enum(channels).default('canvas').describe('who sees the patch grow'),
  patch: z.string().describe('a unified diff of this one file; any text that does not begin with ---, +++ or @@ replaces the whole file'),
  kind: z.enum(kinds).default('display').describe('display: shown in place; file: the patched file is handed over'),
})

/**
 * The schema accepts any text as channel and kind, so that the tool itself rejects an unknown value. The error of the tool lists the
 * allowed values.
 */
const acceptedParams = shownParams.extend({ channel: z.string().default('canvas'), kind: z.string().default('display') })

/** The tool `react.patch`: applies a unified diff to a text file, completely or not at all. */
export const createPatchTool = () =>
  defineTool({
    id: 'react.patch',
    description: 'Change an existing text file of this turn by a unified diff, or replace all of its text.',
    params: acceptedParams,
    parameters: parametersOf(shownParams) ?? [],
    order: 'hard',
    strategy: 'exploitation',
    returns: 'the patch as it was applied: all of it, or an error and no change',
    constraints: ['lines that stay the same must stand in the patch exactly as in the file, without line numbers'],
    async run({ path, channel, patch, kind }, call) {
      const audience = parseAudience(channel, kind)
      if (!('channel' in audience)) return audience
      if (patch.trim() === '') return failed('missing_patch', 'react.patch needs a patch: a unified diff, or the whole new text.')
      const target = await openTarget(path, call)
      if (!('physical' in target)) return target
      const edits = patch.toWellFormed().replace(/^\ufeff/, '')
      if (hasPreviewNumbers(edits, target.text)) return copiedLineNumbers
      const edit = isDiff(edits) ? applyDiff(edits, target) : { ok: true as const, text: edits, shown: edits, placements: [] }
      if (!edit.ok) return notAppliedFailure(edit, target)
      const bytes = encodeTarget(target, edit.text)
      const problem = await writeTarget(target.physical, bytes, call)
      if (problem) return problem
      const artifact = await artifactOf(target, edit, audience, bytes, call)
      const notices = [
        ...rewriteNotice(target.rewrite, 'react.patch', 'what became of it is in'),
        ...(await syntaxNotice(target.physical, edit.text)),
      ]
      return succeeded({ artifacts: [artifact], notices, output: { path: target.physical, ok: true, ...relocatedHunks(edit.placements) } })
    },
  })

/**
 * The new text of the patched file. `shown` is the text of the block in the timeline: the diff, or the whole text if the model replaced all
 * of it.
 */
interface Edit {
  readonly ok: true
  readonly text: string
  readonly shown: string
  readonly placements: readonly HunkPlacement[]
}

function applyDiff(patch: string, { physical, text }: PatchTarget): Edit | ApplyError {
  const parsed = parsePatch(patch)
  if (!parsed.ok) return parsed
  const applied = applyPatch(parsed.hunks, text)
  return applied.ok ? { ok: true, text: applied.text, shown: formatPatch(physical, applied), placements: applied.placements } : applied
}

const copiedLineNumbers = failed(
  'patch_contains_preview_line_numbers',
  'The patch holds line numbers of a view, which are not part of the file. Read the lines with line_numbers "disabled" and send the patch without them; if they are meant, use react.write.',
)

function notAppliedFailure({ code, message, diagnostic }: ApplyError, { from }: PatchTarget): Outcome {
  if (!diagnostic) return failed(code, message)
  const suggested_read = suggestRead(from, diagnostic)
  return failed(code, message, { details: { mismatch_diagnostic: diagnostic, suggested_read } as unknown as Json }) // plain JSON
}

async function writeTarget(physical: string, bytes: Uint8Array, call: Call): Promise<Outcome | undefined> {
  try {
    await (await call.workspace()).files.write(physical, bytes)
    return undefined
  } catch (error) {
    const reason = error instanceof Failure && error.code === 'file.unsafe' ? error.details.reason : undefined
    if (typeof reason !== 'string') return failed('write_failed', `${physical} could not be written and is as it was. Try again.`)
    return failed('unsafe_path', `${physical} cannot be written (${reason}). Use another path.`, { details: { reason } })
  }
}

/**
 * The artifact of a patched file. Its text is the patch, and its digest describes the patch. The digest is external only if the patched
 * file is hosted. The field `visibility` of the artifact is the visibility of the patched file: external if the file is hosted, otherwise
 * the same as before the patch.
 */
async function artifactOf(
  { logical, physical, from }: PatchTarget,
  { text, shown }: Edit,
  { channel, kind }: Audience,
  bytes: Uint8Array,
  call: Call,
): Promise<MadeArtifact> {
  const mime = textMimeOf(physical)
  const isHosted = kind === 'file' && channel !== 'internal'
  const digest = {
    artifact_path: logical,
    physical_path: physical,
    mime,
    kind,
    visibility: isHosted ? ('external' as const) : ('internal' as const),
    channel,
    edited: true,
    size_bytes: bytes.length,
    ...textFacts(text, mime, call),
  }
  const before = isHosted ? 'external' : await visibilityBefore([logical, from], call)
  const visibility = before ?? (channel === 'internal' ? 'internal' : 'external')
  return { digest, mime: 'text/markdown', text: shown, bytes, isPatch: true, visibility }
}

/** The visibility of the file before the patch. A file that is no longer in the timeline is looked up in the journal. */
async function visibilityBefore(paths: readonly string[], { timeline, records }: Call): Promise<Visibility | undefined> {
  for (const path of paths) {
    const artifact = findArtifact(timeline, path) ?? artifactFromBlocks(await records.byPath(path), path)
    if (artifact?.metadata.visibility !== undefined) return artifact.metadata.visibility
  }
  return undefined
}

async function syntaxNotice(path: string, text: string): Promise<readonly Notice[]> {
  const problem = await syntaxProblem(path, text)
  if (problem === undefined) return []
  return [{ code: 'post_patch_check_failed', message: `The patch was applied, but ${path} is not sound now: ${problem}.`, path }]
}

/** The hunks that were applied at another line than the patch says. */
function relocatedHunks(placements: readonly HunkPlacement[]) {
  const relocated = placements.flatMap(({ hunk, index, moved }, number) =>
    moved ? [{ hunk: number + 1, requested_line: hunk.start, applied_line: index + 1 }] : [],
  )
  return relocated.length === 0 ? {} : { relocated: relocated.slice(0, 20) }
}

/** The file to patch, and its current text. */
interface PatchTarget {
  readonly ok: true
  readonly physical: string
  readonly logical: string
  readonly rewrite?: { readonly original: string; readonly normalized: string; readonly notify: boolean }
  /** The path that the text was read from. It belongs to an earlier turn if the current turn does not have the file yet. */
  readonly from: string
  readonly text: string
  /** Whether the file begins with a byte order mark. `text` does not contain it. */
  readonly hasByteOrderMark: boolean
}

const maxTargetBytes = 10 * 1024 * 1024

/**
 * Finds the file to patch. A patch of a file of an earlier turn does not change that file. The patched text becomes a file of the current
 * turn.
 */
async function openTarget(path: string, call: Call): Promise<PatchTarget | Outcome> {
  const turns = new Set(knownTurns(call.timeline)).add(call.origin.turnId)
  const named = parseTargetPath(dropOwnConversation(path.normalize('NFC'), call.conversationId), turns)
  if (named?.area === 'attachments')
    return failed('patch_unsupported_namespace', 'Attachments cannot be changed. Write a new file, and name the attachment in it.')
  if (named?.inOtherConversation) return failed('invalid_write_logical_path', 'A file of another conversation cannot be patched.')
  const target = normalizeTarget(path, { currentTurn: call.origin.turnId, knownTurns: turns })
  if (!target.ok) return failed(target.code, target.message)
  const earlier = named?.turn === undefined || named.turn === call.origin.turnId ? undefined : { ...named, turn: named.turn }
  try {
    return await readTarget(target, earlier, call)
  } catch (error) {
    return readFailure(target.physical, error)
  }
}

interface NamedFile {
  readonly turn?: string
  readonly area: Area
  readonly rel: string
  readonly inOtherConversation?: boolean
}

/** The turn, area and relative path in a path. Undefined when the path has another form. */
function parseTargetPath(path: string, turns: ReadonlySet<string>): NamedFile | undefined {
  const logical = parsePathUnchecked(path)
  if (logical?.space === 'fi' && logical.kind === 'file') return { ...logical, inOtherConversation: isInOtherConversation(logical) }
  if (path.startsWith('attachments/')) return { area: 'attachments', rel: path.slice('attachments/'.length) }
  return splitPhysical(path, turns)
}

async function readTarget(
  target: Target & { ok: true },
  earlier: (NamedFile & { turn: string }) | undefined,
  call: Call,
): Promise<PatchTarget | Outcome> {
  const { files } = await call.workspace()
  const current = await files.read(target.physical, { maxBytes: maxTargetBytes })
  if (current !== undefined) return decodeTarget(target, target.logical, current)
  if (!earlier)
    return failed(
      'patch_target_missing',
      `${target.physical} does not exist in this turn. Write it with react.write, or name the turn that has it, such as fi:<turn>.files/…`,
    )
  const from = filePath(earlier.turn, earlier.area, earlier.rel)
  const pulled = `${earlier.turn}/${earlier.area}/${earlier.rel}`
  // A pulled file is read-only. Any other file of an earlier turn is not used, because it may exist on this machine only.
  const isPulled = (await files.stat(pulled))?.readOnly === true
  const old = isPulled ? await files.read(pulled, { maxBytes: maxTargetBytes }) : undefined
  if (old !== undefined) return decodeTarget(target, from, old)
  return failed('patch_requires_pull', `${from} has not been pulled in this turn. Pull it first, then send the patch again.`, {
    details: { pull_hint: { tool_id: 'react.pull', params: { paths: [from] } } },
  })
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const byteOrderMark = '\ufeff'

function decodeTarget(target: Target & { ok: true }, from: string, bytes: Uint8Array): PatchTarget | Outcome {
  try {
    const text = strictUtf8.decode(bytes)
    const hasByteOrderMark = text.startsWith(byteOrderMark)
    return { ...target, from, text: hasByteOrderMark ? text.slice(1) : text, hasByteOrderMark }
  } catch {
    return failed('patch_target_unreadable', `${from} is not text in UTF-8. Make a new file instead.`)
  }
}

function readFailure(physical: string, error: unknown): Outcome {
  if (!(error instanceof Failure)) return failed('patch_target_unreadable', `${physical} could not be read. Try again.`)
  if (error.code === 'workspace.missing')
    return failed('workspace_missing', 'This agent has no workspace, so there is nothing to patch. Tell the user so in the answer.')
  const reason = typeof error.details.reason === 'string' ? error.details.reason : 'unreadable'
  if (error.code !== 'file.unsafe' || reason === 'too_large')
    return failed('patch_target_unreadable', `${physical} could not be read (${reason}).`, { details: { reason } })
  return failed('unsafe_path', `${physical} cannot be patched (${reason}). Use another path.`, { details: { reason } })
}

/** The bytes of the patched file. They begin with a byte order mark if the file had one before. */
const encodeTarget = ({ hasByteOrderMark }: PatchTarget, text: string): Uint8Array =>
  Buffer.from(hasByteOrderMark ? `${byteOrderMark}${text}` : text)
