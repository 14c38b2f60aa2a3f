import { isTurnFolder } from './id.ts'
import { type Area, formatPath, parsePath } from './logical.ts'
import { unsafeReason } from './safety.ts'

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
