/** A text as lines, without what ends them. A carriage return belongs to its line unless every line ends in one. */
export interface Lines {
  readonly lines: readonly string[]
  readonly ending: '\n' | '\r\n'
  /** The last line ends like the others. True of a text without lines: nothing is missing there. */
  readonly closed: boolean
}

/** `uniform` reads a text whose every line ends in CRLF as lines without their carriage returns. */
export function linesOf(text: string, { uniform }: { readonly uniform: boolean }): Lines {
  const ending = uniform && endsInCrlf(text) ? '\r\n' : '\n'
  if (text === '') return { lines: [], ending, closed: true }
  const closed = text.endsWith(ending)
  return { lines: (closed ? text.slice(0, -ending.length) : text).split(ending), ending, closed }
}

export function textOf({ lines, ending, closed }: Lines): string {
  return lines.length === 0 ? '' : `${lines.join(ending)}${closed ? ending : ''}`
}

const endsInCrlf = (text: string) => text.includes('\r\n') && !/(?<!\r)\n/.test(text)
