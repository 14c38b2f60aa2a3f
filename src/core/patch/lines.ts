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
