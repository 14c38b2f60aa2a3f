/** One place of a text, as it is and as it is to be. */
export interface Hunk {
  /** As it was written. */
  readonly header: string
  /** The first line it speaks of, counted from 1; where it speaks of none, the line after which it inserts. */
  readonly start: number
  /** The header says that no line of the old text is touched: `start` is the line before. */
  readonly insertsAfter: boolean
  /** What a diff says after the second `@@`: the function or heading around the hunk. */
  readonly section: string
  readonly lines: readonly HunkLine[]
}

export interface HunkLine {
  /** In which text it stands. */
  readonly side: 'both' | 'old' | 'new'
  readonly text: string
  /** Its number in the patch, from 1. */
  readonly number: number
  /** `\ No newline at end of file` follows. */
  readonly withoutNewline?: true
}

export const oldLines = (hunk: Hunk): readonly HunkLine[] => hunk.lines.filter(({ side }) => side !== 'new')
export const newLines = (hunk: Hunk): readonly HunkLine[] => hunk.lines.filter(({ side }) => side !== 'old')

/** Why a patch was not applied. Whatever the reason, nothing was changed. */
export type PatchErrorCode =
  | 'patch_too_large'
  | 'invalid_hunk_header'
  | 'invalid_hunk_line'
  | 'no_hunks_found'
  | 'patch_multiple_files'
  | 'hunk_out_of_order'
  | 'hunk_mismatch'
  | 'patch_too_costly'

export interface PatchError {
  readonly ok: false
  readonly code: PatchErrorCode
  readonly message: string
}

export const patchError = (code: PatchErrorCode, message: string): PatchError => ({ ok: false, code, message })

/** A text as lines, without what ends them. A carriage return belongs to its line unless every line ends in one. */
export interface TextLines {
  readonly lines: readonly string[]
  readonly ending: '\n' | '\r\n'
  /** The last line ends like the others. True of a text without lines: nothing is missing there. */
  readonly endsInNewline: boolean
}

/** `uniform` reads a text whose every line ends in CRLF as lines without their carriage returns. */
export function splitLines(text: string, { uniform }: { readonly uniform: boolean }): TextLines {
  const ending = uniform && endsInCrlf(text) ? '\r\n' : '\n'
  if (text === '') return { lines: [], ending, endsInNewline: true }
  const closed = text.endsWith(ending)
  return { lines: (closed ? text.slice(0, -ending.length) : text).split(ending), ending, endsInNewline: closed }
}

export function joinLines({ lines, ending, endsInNewline: closed }: TextLines): string {
  return lines.length === 0 ? '' : `${lines.join(ending)}${closed ? ending : ''}`
}

const endsInCrlf = (text: string) => text.includes('\r\n') && !/(?<!\r)\n/.test(text)
