/** One change of a unified diff: some lines of the old text and the lines that replace them. */
export interface Hunk {
  /** The header line as it was written. */
  readonly header: string
  /** The first line in the old text, counted from 1; for an empty range, the line to insert after. */
  readonly start: number
  /** The range in the old text is empty according to the header. */
  readonly insertsAfter: boolean
  /** The text after the second `@@`: the function or heading around the hunk. */
  readonly section: string
  readonly lines: readonly HunkLine[]
}

export interface HunkLine {
  /** The text that has this line. */
  readonly side: 'both' | 'old' | 'new'
  readonly text: string
  /** The line number in the patch, from 1. */
  readonly number: number
  /** `\ No newline at end of file` follows. */
  readonly withoutNewline?: true
}

export const oldLines = (hunk: Hunk): readonly HunkLine[] => hunk.lines.filter(({ side }) => side !== 'new')
export const newLines = (hunk: Hunk): readonly HunkLine[] => hunk.lines.filter(({ side }) => side !== 'old')

/** Why a patch was not applied. */
export type PatchErrorCode =
  | 'patch_too_large'
  | 'invalid_hunk_header'
  | 'invalid_hunk_line'
  | 'no_hunks_found'
  | 'patch_multiple_files'
  | 'hunk_out_of_order'
  | 'hunk_mismatch'
  | 'patch_too_costly'

/** A patch that could not be parsed or applied. Nothing was changed; the model reads `message`. */
export interface PatchError {
  readonly ok: false
  readonly code: PatchErrorCode
  readonly message: string
}

export const patchError = (code: PatchErrorCode, message: string): PatchError => ({ ok: false, code, message })

/** A text as lines without their endings. A carriage return belongs to its line unless every line ends in CRLF. */
export interface TextLines {
  readonly lines: readonly string[]
  readonly ending: '\n' | '\r\n'
  /** True also for the empty text. */
  readonly endsInNewline: boolean
}

/** Splits a text at line feeds. With `uniform`, a text whose every line ends in CRLF is split at CRLF. */
export function splitLines(text: string, { uniform }: { readonly uniform: boolean }): TextLines {
  const ending = uniform && endsInCrlf(text) ? '\r\n' : '\n'
  if (text === '') return { lines: [], ending, endsInNewline: true }
  const endsInNewline = text.endsWith(ending)
  return { lines: (endsInNewline ? text.slice(0, -ending.length) : text).split(ending), ending, endsInNewline }
}

export function joinLines({ lines, ending, endsInNewline }: TextLines): string {
  return lines.length === 0 ? '' : `${lines.join(ending)}${endsInNewline ? ending : ''}`
}

const endsInCrlf = (text: string) => text.includes('\r\n') && !/(?<!\r)\n/.test(text)
