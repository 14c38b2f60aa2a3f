import { filePath } from './build.ts'
import { type Area, formatPath, parsePath, parsePathUnchecked } from './logical.ts'
import { isTurnFolder, unsafeReason, unwritableReason } from './safety.ts'

/** `fi:T.files/R` is `T/files/R` under OUT_DIR. Undefined for every other path, and for files of another conversation. */
export function toPhysical(logical: string): string | undefined {
  const path = parsePath(logical)
  if (path?.space !== 'fi' || path.kind !== 'file' || path.conversation !== undefined) return undefined
  return `${path.turn}/${path.area}/${path.rel}`
}

/** The inverse of `toPhysical`. Undefined for anything that is not a turn's file. */
export function toLogical(physical: string, knownTurns?: ReadonlySet<string>): string | undefined {
  const parts = splitPhysical(physical, knownTurns)
  if (parts === undefined || unsafeReason(physical) !== undefined) return undefined
  return formatPath({ space: 'fi', kind: 'file', ...parts })
}

const physicalShape = /^([^/]+)\/(files|outputs|attachments)\/(.+)$/s

/** The parts of `<turn>/<area>/<rel>`; what they hold is not checked. */
export function splitPhysical(physical: string, knownTurns?: ReadonlySet<string>) {
  const [, turn, area, rel] = physicalShape.exec(physical) ?? []
  if (turn === undefined || area === undefined || rel === undefined || !isTurnFolder(turn, knownTurns)) return undefined
  return { turn, area: area as Area, rel } // the expression names the areas
}

export type WritableArea = Exclude<Area, 'attachments'>

export interface TargetScope {
  readonly currentTurn: string
  readonly knownTurns?: ReadonlySet<string>
  /** Where a bare name goes; `files` unless said. */
  readonly defaultArea?: WritableArea
}

export type Target =
  | {
      readonly ok: true
      readonly physical: string
      readonly logical: string
      /** The path is not the one that was given. `notify`: the model asked for another place and must be told. */
      readonly rewrite?: { readonly original: string; readonly normalized: string; readonly notify: boolean }
    }
  | { readonly ok: false; readonly code: TargetProblem; readonly message: string }

export type TargetProblem = 'missing_path' | 'invalid_write_logical_path' | 'unsafe_path'

interface Placement {
  readonly area: WritableArea
  readonly rel: string
  /** The turn or the area is not the one that was asked for. */
  readonly moved: boolean
}

// A path of 1,024 bytes, a prefix and a turn fit with room to spare; nothing longer is worth normalising.
const maximumInput = 4096

/** Where a write goes that the model aimed at `input`: always below the current turn's `files/` or `outputs/`, or an error. */
export function normalizeTarget(input: string, scope: TargetScope): Target {
  if (input.length > maximumInput) return reject('unsafe_path', 'The path is too long.')
  if (input.trim() === '') return reject('missing_path', 'A path is required.')
  const given = input.normalize('NFC')
  const placement = hasDriveLetter(given) || !hasSpacePrefix(given) ? placePhysical(given, scope) : placeLogical(given)
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

/** A colon before the first separator names a space; `C:\` names a disk, which the safety rules refuse. */
const hasSpacePrefix = (path: string) => /^[^/\\]*:/.test(path)
const hasDriveLetter = (path: string) => /^[A-Za-z]:/.test(path)

/** A logical file is written by its relative path. It is always news to the model: it named an old version, or the wrong kind of path. */
function placeLogical(path: string): Placement | undefined {
  const file = parsePathUnchecked(path)
  if (file?.space !== 'fi' || file.kind !== 'file') return undefined
  return { area: writableArea(file.area), rel: file.rel, moved: true }
}

function placePhysical(path: string, { currentTurn, knownTurns, defaultArea = 'files' }: TargetScope): Placement | 'elsewhere' {
  const turns = new Set(knownTurns).add(currentTurn)
  const whole = splitPhysical(path, turns)
  if (whole !== undefined) {
    const moved = whole.turn !== currentTurn || whole.area === 'attachments'
    return { area: writableArea(whole.area), rel: whole.rel, moved }
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
