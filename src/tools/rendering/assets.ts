import type { Notice } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { parsePath } from '../../core/path/logical.ts'
import { splitPhysical, toLogical } from '../../core/path/physical.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import type { Workspace } from '../../ports/workspace.ts'
import { readSafely } from '../artifacts/earlier-files.ts'
import { historyOf } from '../artifacts/history.ts'
import type { Call } from '../tool.ts'

/** The files of a conversation that a document shows. Files of earlier turns are fetched into the workspace when they are needed. */
export interface Assets {
  /** Fetches files before the document is made. Returns the mentions for which there is no file. */
  pull(mentions: readonly string[]): Promise<readonly string[]>
  /** The bytes at an address of the document. Undefined when there is no such file. */
  read(address: string): Promise<Uint8Array | undefined>
}

interface AssetRef {
  readonly turn: string
  readonly area: 'files' | 'outputs' | 'attachments'
  readonly rel: string
}

export function createAssets(workspace: Workspace, call: Call): Assets {
  const turns = new Set(knownTurns(call.timeline)).add(call.origin.turnId)
  const history = historyOf(call)
  /** For each file that was requested: whether it is in the workspace now. */
  const pulled = new Map<string, Promise<boolean>>()

  function parse(address: string): AssetRef | undefined {
    const path = decodePath(address)
    if (path === undefined) return undefined
    if (/^fi:/i.test(path)) {
      const logical = parsePath(path)
      return logical?.space === 'fi' && logical.kind === 'file' && logical.conversationId === undefined ? logical : undefined
    }
    // A path that begins with an area is a path in the current turn.
    const physical = /^(?:files|outputs|attachments)\//.test(path) ? `${call.origin.turnId}/${path}` : path
    return toLogical(physical, turns) === undefined ? undefined : splitPhysical(physical, turns)
  }

  async function fetch({ turn, area, rel }: AssetRef): Promise<boolean> {
    const ref = { area, rel }
    const { present } = await workspace.hydrate(turn, [ref], history)
    return present.some(({ files }) => files.some(({ path }) => path === physicalOf({ turn, area, rel })))
  }

  function ensure(ref: AssetRef): Promise<boolean> {
    const path = physicalOf(ref)
    const known = pulled.get(path) ?? fetch(ref).catch(refusedAsMissing)
    pulled.set(path, known)
    return known
  }

  return {
    async pull(mentions) {
      const missing: string[] = []
      for (const mention of mentions) {
        const ref = parse(mention)
        if (ref && !(await ensure(ref))) missing.push(physicalOf(ref))
      }
      return [...new Set(missing)]
    },
    async read(address) {
      const ref = parse(address)
      return ref && (await ensure(ref)) ? readSafely(workspace, physicalOf(ref)) : undefined
    },
  }
}

const physicalOf = ({ turn, area, rel }: AssetRef) => `${turn}/${area}/${rel}`

/** A file that is not safe to open, such as a link that a program made, is treated like a missing file. */
function refusedAsMissing(error: unknown): boolean {
  if (error instanceof Failure && error.code === 'file.unsafe') return false
  throw error
}

const maxAddress = 2_000

/** The path in an address: without query and fragment, and with `%20` and the like decoded. Undefined when the path is not safe. */
function decodePath(address: string): string | undefined {
  const text = address.trim().replace(/^<|>$/g, '')
  const end = text.search(/[?#]/)
  const path = end === -1 ? text : text.slice(0, end)
  if (path === '' || path.length > maxAddress) return undefined
  try {
    const decoded = decodeURIComponent(path.replace(/^\.\//, '')).normalize('NFC')
    return /^fi:/i.test(decoded) || unsafeReason(decoded) === undefined ? decoded : undefined
  } catch {
    return undefined // `%` without two hex digits
  }
}

/** The notice about files that the document mentions and that do not exist. */
export const missingAssetsNotice = (missing: readonly string[]): readonly Notice[] =>
  missing.length === 0
    ? []
    : [
        {
          code: 'tool_call_error.missing_assets',
          message: `The document was made without ${missing.slice(0, 20).join(', ')}: there is no such file. Check the paths with react.search_files, or leave these files out, then call again.`,
          missing: missing.slice(0, 50),
        },
      ]

/** The notice about cited SIDs for which there is no source. */
export const missingSourcesNotice = (sids: readonly number[]): readonly Notice[] =>
  sids.length === 0
    ? []
    : [
        {
          code: 'tool_call_warning.missing_sources',
          message: `No source has the number ${sids.slice(0, 50).join(', ')}; the document was made without these citations.`,
          missing_sids: sids.slice(0, 50),
        },
      ]

/** Fetches the files of cited sources. Returns a notice about the sources whose file is not available. */
export async function pullSourceFiles(rows: readonly SourceRow[], assets: Assets): Promise<readonly Notice[]> {
  const missing: number[] = []
  for (const { sid, physical_path, artifact_path } of rows) {
    const path = physical_path ?? artifact_path
    if (path !== undefined && (await assets.pull([path])).length > 0) missing.push(sid)
  }
  if (missing.length === 0) return []
  const message = `The files of the sources ${missing.join(', ')} are not available; the document cites them without their content.`
  return [{ code: 'tool_call_warning.missing_sid_assets', message, missing_sids: missing }]
}
