import { filePath } from './build.ts'
import { type Area, formatPath, parsePath, parsePathUnchecked } from './logical.ts'
import { isTurnFolder, unsafeReason, unwritableReason } from './safety.ts'

/**
 * The path below OUT_DIR of a logical file: `fi:T.files/R` is `T/files/R`. Undefined for other paths and for files of another
 * conversation.
 */
export function toPhysical(logical: string): string | undefined {
  const path = parsePath(logical)
  if (path?.space !== 'fi' || path.kind !== 'file' || path.conversationId !== undefined) return undefined
  return `${path.turn}/${path.area}/${path.rel}`
}

/** The inverse of `toPhysical`. Undefined when the path is not a safe path of a turn's file. */
export function toLogical(physical: string, knownTurns?: ReadonlySet<string>): string | undefined {
  const parts = splitPhysical(physical, knownTurns)
  if (parts === undefined || unsafeReason(physical) !== undefined) return undefined
  return formatPath({ space: 'fi', kind: 'file', ...parts })
}

const physicalShape = /^([^/]+)\/(files|outputs|attachments)\/(.+)$/s

/** The parts of `<turn>/<area>/<rel>`, without a safety check. */
export function splitPhysical(physical: string, knownTurns?: ReadonlySet<string>) {
  const [, turn, area, rel] = physicalShape.exec(physical) ?? []
  if (turn === undefined || area === undefined || rel === undefined || !isTurnFolder(turn, knownTurns)) return undefined
  return { turn, area: area as Area, rel } // the expression names the areas
}

/** An area of a turn that the agent may write to. */
export type WritableArea = Exclude<Area, 'attachments'>

/** The context in which a write target is resolved. */
export interface TargetScope {
  readonly currentTurn: string
  readonly knownTurns?: ReadonlySet<string>
  /** The area of a path that names none; by default `files`. */
  readonly defaultArea?: WritableArea
}

/** The resolved target of a write, or the reason why there is none. */
export type Target =
  | {
      readonly ok: true
      readonly physical: string
      readonly logical: string
      /** Set when `physical` differs from the input. `notify`: turn or area changed, so that the model must be notified. */
      readonly rewrite?: { readonly original: string; readonly normalized: string; readonly notify: boolean }
    }
  | { readonly ok: false; readonly code: TargetProblem; readonly message: string }

/** Why a write target is refused. */
export type TargetProblem = 'missing_path' | 'invalid_write_logical_path' | 'unsafe_path'

interface Placement {
  readonly area: WritableArea
  readonly rel: string
  /** Turn or area differ from the input. */
  readonly moved: boolean
}

// Longer input can not be a valid path, which has at most 1,024 bytes after its prefix and turn.
const maximumInput = 4096

/** Resolves the path of a write by the model to a path below `files/` or `outputs/` of the current turn, or to an error. */
export function normalizeTarget(input: string, scope: TargetScope): Target {
  if (input.length > maximumInput) return reject('unsafe_path', 'The path is too long.')
  if (input.trim() === '') return reject('missing_path', 'A path is required.')
  const path = input.normalize('NFC')
  const placement = hasDriveLetter(path) || !hasSpacePrefix(path) ? placePhysical(path, scope) : placeLogical(path)
  if (placement === undefined)
    return reject('invalid_write_logical_path', 'Give a path such as files/report.md; a logical path is not a place to write.')
  if (placement === 'elsewhere') return reject('unsafe_path', "A turn's folder has only files/ and outputs/ to write in.")

  const { area, rel, moved } = placement
  const physical = `${scope.currentTurn}/${area}/${rel}`
  const reason = unwritableReason(physical, scope.currentTurn)
  if (reason !== undefined) return reject('unsafe_path', `The path ${reason}.`)
  const rewrite = physical === input ? {} : { rewrite: { original: input, normalized: physical, notify: moved } }
  return { ok: true, physical, logical: filePath(scope.currentTurn, area, rel), ...rewrite }
}

const reject = (code: TargetProblem, message: string): Target => ({ ok: false, code, message })

/** True for a logical path: it has a colon before the first separator. `C:\` is a drive, which `unwritableReason` rejects. */
const hasSpacePrefix = (path: string) => /^[^/\\]*:/.test(path)
const hasDriveLetter = (path: string) => /^[A-Za-z]:/.test(path)

/**
 * A logical file path is resolved by its relative part. The model is always notified: it named an earlier version or the wrong kind of
 * path.
 */
function placeLogical(path: string): Placement | undefined {
  const file = parsePathUnchecked(path)
  if (file?.space !== 'fi' || file.kind !== 'file') return undefined
  return { area: writableArea(file.area), rel: file.rel, moved: true }
}

function placePhysical(path: string, { currentTurn, knownTurns, defaultArea = 'files' }: TargetScope): Placement | 'elsewhere' {
  const turns = new Set(knownTurns).add(currentTurn)
  const qualified = splitPhysical(path, turns)
  if (qualified !== undefined) {
    const moved = qualified.turn !== currentTurn || qualified.area === 'attachments'
    return { area: writableArea(qualified.area), rel: qualified.rel, moved }
  }
  const slash = path.indexOf('/')
  const first = path.slice(0, Math.max(0, slash))
  const rest = path.slice(slash + 1)
  if (isTurnFolder(first, turns)) return 'elsewhere'
  if (first === 'files' || first === 'outputs') return { area: first, rel: rest, moved: false }
  if (first === 'attachments') return { area: 'files', rel: rest, moved: true }
  return { area: defaultArea, rel: path, moved: false }
}

const writableArea = (area: Area): WritableArea => (area === 'attachments' ? 'files' : area)
