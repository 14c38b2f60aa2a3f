/** How words look in a terminal; plain where nobody sees colours. */
export interface Style {
  quiet(words: string): string
  strong(words: string): string
  good(words: string): string
  bad(words: string): string
  link(words: string): string
}

const plain: Style = { quiet: same, strong: same, good: same, bad: same, link: same }

const painted = (open: number, close: number) => (words: string) => `\x1b[${open}m${words}\x1b[${close}m`

const coloured: Style = {
  quiet: painted(2, 22),
  strong: painted(1, 22),
  good: painted(32, 39),
  bad: painted(31, 39),
  link: painted(36, 39),
}

/** Colours only on a terminal that wants them (no-color.org). */
export function styleFor(stream: { readonly isTTY?: boolean }, environment: Readonly<Record<string, string | undefined>>): Style {
  if (environment.NO_COLOR !== undefined && environment.NO_COLOR !== '') return plain
  if (environment.FORCE_COLOR !== undefined && environment.FORCE_COLOR !== '0') return coloured
  return stream.isTTY === true && environment.TERM !== 'dumb' ? coloured : plain
}

function same(words: string): string {
  return words
}
