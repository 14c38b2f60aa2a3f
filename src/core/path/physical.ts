import { filePath } from './build.ts'
import { type Area, formatPath, parsePath, parsePathUnchecked } from './logical.ts'
import { isTurnFolder, unsafeReason, unwritableReason } from './safety.ts'

/**
 * The physical path of a file: for `fi:T.files/R` it is `T/files/R`. Undefined when the text is not the logical path of a file in this
 * conversation.
 */
export function toPhysical(logical: string): string | undefined {
  const path = parsePath(logical)
  if (path?.space !== 'fi' || path.kind !== 'file' || path.conversationId !== undefined) return undefined
  return `${path.turn}/${path.area}/${path.rel}`
}

/**
 * The logical path of a file: for `T/files/R` it is `fi:T.files/R`. Undefined when the text is not a safe physical path. `T` must begin
 * with `turn_` or be in `knownTurns`.
 */
export function toLogical(physical: string, knownTurns?: ReadonlySet<string>): string | undefined {
  const parts = splitPhysical(physical, knownTurns)
  if (parts === undefined || unsafeReason(physical) !== undefined) return undefined
  return formatPath({ space: 'fi', kind: 'file', ...parts })
}

const physicalShape = /^([^/]+)\/(files|outputs|attachments)\/(.+)$/s

/** Splits `<turn>/<area>/<rel>`. It does not check `rel`, which may contain `..`. Undefined when the text has another form. */
export function splitPhysical(physical: string, knownTurns?: ReadonlySet<string>) {
  const [, turn, area, rel] = physicalShape.exec(physical) ?? []
  if (turn === undefined || area === undefined || rel === undefined || !isTurnFolder(turn, knownTurns)) return undefined
  return { turn, area: area as Area, rel } // `physicalShape` matches only areas
}

/** An area of a turn that the agent may write to. */
export type WritableArea = Exclude<Area, 'attachments'>

/** The turn that writes a file, and the defaults for a path that names no turn or no area. */
export interface TargetScope {
  readonly currentTurn: string
  readonly knownTurns?: ReadonlySet<string>
  /** The area for a path that names no area, such as `report.md`. The default is `files`. */
  readonly defaultArea?: WritableArea
}

/** The resolved target of a write, or the reason why there is none. */
export type Target =
  | {
      readonly ok: true
      readonly physical: string
      readonly logical: string
      /**
       * Set when `physical` differs from the input. `notify` is true when the input named another turn or `attachments/`. In this case the
       * model must be told where the file is.
       */
      readonly rewrite?: { readonly original: string; readonly normalized: string; readonly notify: boolean }
    }
  | { readonly ok: false; readonly code: TargetProblem; readonly message: string }

/** Why the path is not accepted as the target of a write. */
export type TargetProblem = 'missing_path' | 'invalid_write_logical_path' | 'unsafe_path'

interface Placement {
  readonly area: WritableArea
  readonly rel: string
  /** True when the path named another turn or `attachments/`. In this case the model must be told where the file is. */
  readonly moved: boolean
}

// A longer input can not be valid: a relative path has at most 1,024 bytes, and the prefix before it (`fi:`, a turn id, the area) is short.
const maximumInput = 4096

/**
 * Resolves the path that the model wants to write to. The result is a path below `files/` or `outputs/` of the current turn, or the reason
 * why the path is rejected.
 */
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

/**
 * Whether a colon comes before the first slash, as in a logical path. This is also true for a Windows path such as `C:\x`, so callers test
 * `hasDriveLetter` first.
 */
const hasSpacePrefix = (path: string) => /^[^/\\]*:/.test(path)
const hasDriveLetter = (path: string) => /^[A-Za-z]:/.test(path)

/**
 * Resolves a logical path to the same relative path in the current turn. `moved` is always true: a logical path addresses existing content,
 * so the model must be told at which path the file is written.
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
