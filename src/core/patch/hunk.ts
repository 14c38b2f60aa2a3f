/** One change in a unified diff: some lines of the old text and the lines that replace them. */
export interface Hunk {
  /** The header line as it was written. */
  readonly header: string
  /**
   * The number of the hunk's first line in the old text, from 1. If the hunk has no lines of the old text, it is the number of the line
   * after which the new lines are inserted.
   */
  readonly start: number
  /** True when the header says that the hunk has no lines of the old text. */
  readonly insertsAfter: boolean
  /** The text after the second `@@`. It usually names the function or heading that contains the hunk. */
  readonly section: string
  readonly lines: readonly HunkLine[]
}

export interface HunkLine {
  /** Which text contains this line: the old one, the new one or both. */
  readonly side: 'both' | 'old' | 'new'
  readonly text: string
  /** The number of this line in the patch, from 1. */
  readonly number: number
  /** True when the patch says `\ No newline at end of file` after this line. */
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

/** The error for a patch that could not be parsed or applied. The file was not changed. The model reads `message`. */
export interface PatchError {
  readonly ok: false
  readonly code: PatchErrorCode
  readonly message: string
}

export const patchError = (code: PatchErrorCode, message: string): PatchError => ({ ok: false, code, message })

/** The lines of a text without their ending. If `ending` is a line feed, carriage returns are part of the lines. */
export interface TextLines {
  readonly lines: readonly string[]
  readonly ending: '\n' | '\r\n'
  /** Whether the text ends in a newline. True for the empty text. */
  readonly endsInNewline: boolean
}

/** Splits a text at line feeds. If `uniform` is true and every line ends in CRLF, the text is split at CRLF. */
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
