/** How words look in a terminal; plain where nobody sees colours. */
export interface Style {
  dim(words: string): string
  bold(words: string): string
  success(words: string): string
  failure(words: string): string
  link(words: string): string
}

const plainStyle: Style = { dim: unchanged, bold: unchanged, success: unchanged, failure: unchanged, link: unchanged }

const ansi = (open: number, close: number) => (words: string) => `\x1b[${open}m${words}\x1b[${close}m`

const colourStyle: Style = {
  dim: ansi(2, 22),
  bold: ansi(1, 22),
  success: ansi(32, 39),
  failure: ansi(31, 39),
  link: ansi(36, 39),
}

/** Colours only on a terminal that wants them (no-color.org). */
export function styleFor(stream: { readonly isTTY?: boolean }, environment: Readonly<Record<string, string | undefined>>): Style {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== '') return plainStyle
  if (environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0') return colourStyle
  return stream.isTTY === true && environment.TERM !== 'dumb' ? colourStyle : plainStyle
}

function unchanged(words: string): string {
  return words
}
