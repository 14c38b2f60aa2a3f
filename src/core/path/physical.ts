import { filePath } from './build.ts'
import { type Area, formatPath, parsePath, parsePathUnchecked } from './logical.ts'
import { isTurnFolder, unsafeReason, unwritableReason } from './safety.ts'

/**
 * The path below OUT_DIR of a logical file path. For `fi:T.files/R` it is `T/files/R`. Undefined for paths of other kinds and for files of
 * another conversation.
 */
export function toPhysical(logical: string): string | undefined {
  const path = parsePath(logical)
  if (path?.space !== 'fi' || path.kind !== 'file' || path.conversationId !== undefined) return undefined
  return `${path.turn}/${path.area}/${path.rel}`
}

/** The inverse of `toPhysical`. Undefined when the text is not a safe path of a file in a turn's folder. */
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
  return { turn, area: area as Area, rel } // `physicalShape` matches only areas
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
      /** Set when `physical` differs from the input. `notify` is true when the model named another turn or area and must be told. */
      readonly rewrite?: { readonly original: string; readonly normalized: string; readonly notify: boolean }
    }
  | { readonly ok: false; readonly code: TargetProblem; readonly message: string }

/** Why a write target is refused. */
export type TargetProblem = 'missing_path' | 'invalid_write_logical_path' | 'unsafe_path'

interface Placement {
  readonly area: WritableArea
  readonly rel: string
  /** The model named another turn or area, so it must be told where the file is written. */
  readonly moved: boolean
}

// Longer input can not be valid: a path has at most 1,024 bytes, plus a prefix such as `fi:` and a turn id.
const maximumInput = 4096

/** Resolves the path that the model wants to write to. The result is below `files/` or `outputs/` of the current turn, or an error. */
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

/** True when a colon comes before the first slash, as in a logical path. `C:\` matches too: see `hasDriveLetter`. */
const hasSpacePrefix = (path: string) => /^[^/\\]*:/.test(path)
const hasDriveLetter = (path: string) => /^[A-Za-z]:/.test(path)

/**
 * Resolves a logical file path: the file is written at the same relative path in the current turn. The model is always told, because a
 * logical path names a finished version and is not a place to write.
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
