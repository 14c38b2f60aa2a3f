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
  readonly at: number
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
