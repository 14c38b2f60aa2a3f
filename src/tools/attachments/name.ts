import { unsafeReason } from '../../core/path/safety.ts'

const maxNameLength = 80 // characters, of three bytes each

// Marks that turn the direction of writing: `photo\u202Egnp.exe` reads as `photoexe.png`.
const directionMarks = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** The name lies to whoever reads it. */
export const isMisleading = (name: string): boolean => directionMarks.test(name)

/** A name that can be a path. Only the last part is kept: the rest told where it was on someone's disk. */
export function safeName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? ''
  if (unsafeReason(last) === undefined) return last
  const plain = last
    .normalize('NFC')
    .replace(/[:%\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '_')
    .slice(-maxNameLength)
    .replace(/^[\u{DC00}-\u{DFFF}]/u, '') // half of a character that was cut
  return unsafeReason(plain) === undefined ? plain : 'attachment'
}

/** Lower case, without its dot; '' when there is none. */
export const extensionOf = (name: string): string => /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
