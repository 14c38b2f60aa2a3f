import { type Style, styleFor, wantsColours } from './terminal.ts'

/** Renders Markdown for a terminal while it arrives. */
export interface Markdown {
  /**
   * Returns the text that can already be printed. The beginning of a mark, such as one `*`, is held back until the next piece shows which
   * mark it is.
   */
  write(text: string): string
  /** Returns the text that was held back, and ends the current line. */
  end(): string
}

type MarkdownStyle = Pick<Style, 'bold' | 'dim' | 'link' | 'italic'>

/** How many characters a bold or italic text, an inline code or a link may have. Longer ones are printed as they are. */
const maxSpan = 400

/** The function that makes renderers for this stream. Undefined if the stream is not a terminal or should get no colours. */
export function markdownFor(
  stream: { readonly isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): (() => Markdown) | undefined {
  if (!stream.isTTY || !wantsColours(stream, environment)) return undefined
  const style = styleFor(stream, environment)
  return () => createMarkdown(style)
}

/**
 * Creates a renderer. It renders headings, lists, quotes, code, bold and italic text, and links. All other marks stay as they are. No text
 * is lost: a mark without its end is printed as it is. The text must contain no control characters.
 */
export function createMarkdown(style: MarkdownStyle): Markdown {
  let held = ''
  let atLineStart = true
  let inFence = false
  let inHeading = false
  let before = ' ' // the character before the current position

  const paint = (text: string): string => {
    if (text === '') return ''
    if (inFence) return style.link(text)
    return inHeading ? style.bold(text) : text
  }

  function render(text: string, isEnd: boolean): string {
    let rest = held + text
    let output = ''
    held = ''
    while (rest !== '') {
      const step = rest.startsWith('\n') ? endLine() : atLineStart ? lineStart(rest, isEnd) : inLine(rest, isEnd)
      if (step === 'more') {
        held = rest
        break
      }
      output += step.output
      before = rest[step.length - 1] ?? before
      rest = rest.slice(step.length)
    }
    return output
  }

  function endLine(): Step {
    atLineStart = true
    inHeading = false
    return { output: '\n', length: 1 }
  }

  /** Reads the mark at the beginning of a line. */
  function lineStart(rest: string, isEnd: boolean): Step | 'more' {
    const line = rest.split('\n', 1)[0] ?? ''
    const isComplete = isEnd || line.length < rest.length
    if (!isComplete && line.length < maxSpan && /^ {0,8}(?:`{0,3}|#{0,6} *|[-*+] *|>)$/.test(line)) return 'more'
    const isFence = /^ {0,3}```/.test(line)
    if (isFence && !isComplete && line.length < maxSpan) return 'more'
    atLineStart = false
    before = ' '
    if (isFence) {
      inFence = !inFence
      return { output: style.dim(line), length: line.length }
    }
    if (inFence) return { output: '', length: 0 }
    const heading = /^#{1,6} +(?=\S)/.exec(line)?.[0]
    if (heading !== undefined) {
      inHeading = true
      return { output: '', length: heading.length }
    }
    const bullet = /^( {0,8})[-*+] +(?=\S)/.exec(line)
    if (bullet) return { output: `${bullet[1]}• `, length: bullet[0].length }
    return line.startsWith('> ') ? { output: style.dim('│ '), length: 2 } : { output: '', length: 0 }
  }

  /** Reads a span of text, or a text without marks. */
  function inLine(rest: string, isEnd: boolean): Step | 'more' {
    if (inFence || inHeading) return plain(rest, rest.search(/\n|$/))
    const mark = spanMarks.find(({ begin }) => rest.startsWith(begin))
    if (mark) return span(rest, mark.begin, mark.style, isEnd)
    if (rest.startsWith('[')) return link(rest, isEnd)
    if (rest.startsWith('\\')) {
      if (rest.length === 1 && !isEnd) return 'more'
      return /^\\[*_`[\]\\#>-]/.test(rest) ? { output: rest[1] as string, length: 2 } : plain(rest, 1)
    }
    return plain(rest, rest.search(/[*`[\\\n]|$/))
  }

  const plain = (rest: string, length: number): Step => ({ output: paint(rest.slice(0, length)), length })

  function span(rest: string, begin: string, name: 'bold' | 'italic' | 'link', isEnd: boolean): Step | 'more' {
    if (begin === '*' && rest.length === 1 && !isEnd) return 'more' // this may be the first half of **
    const line = rest.slice(0, maxSpan).split('\n', 1)[0] ?? ''
    const isComplete = isEnd || line.length < rest.length || line.length === maxSpan
    const isCode = name === 'link'
    const opens = isCode || (!/[\p{L}\p{N}*]/u.test(before) && !/^[\s*]/.test(line.slice(begin.length)))
    if (!opens) return !isComplete && line.length === begin.length && !isCode ? 'more' : plain(rest, begin.length)
    const close = closeOf(line, begin, isCode)
    if (close === undefined) return isComplete ? plain(rest, begin.length) : 'more'
    // `*a*` may be the beginning of `*a**`
    if (begin === '*' && close + 1 === line.length && !isComplete) return 'more'
    return { output: style[name](line.slice(begin.length, close)), length: close + begin.length }
  }

  function link(rest: string, isEnd: boolean): Step | 'more' {
    const line = rest.slice(0, maxSpan).split('\n', 1)[0] ?? ''
    const isComplete = isEnd || line.length < rest.length || line.length === maxSpan
    const found = readLink(line)
    if (found === 'more') return isComplete ? plain(rest, 1) : 'more'
    if (found === undefined) return plain(rest, 1)
    const { text, address, length } = found
    return { output: text === address ? text : `${text}${style.dim(` (${address})`)}`, length }
  }

  return { write: (text) => render(text, false), end: () => render('', true) }
}

/** The output for the first `length` characters of the remaining text. */
interface Step {
  readonly output: string
  readonly length: number
}

const spanMarks = [
  { begin: '**', style: 'bold' },
  { begin: '*', style: 'italic' },
  { begin: '`', style: 'link' },
] as const

/** The position of the mark that ends a span. The text before the mark must not be empty or end with a space. */
function closeOf(line: string, mark: string, isCode: boolean): number | undefined {
  for (let at = line.indexOf(mark, mark.length + 1); at > 0; at = line.indexOf(mark, at + 1)) {
    const isLonger = mark === '*' && (line[at + 1] === '*' || line[at - 1] === '*')
    if (isCode || (!isLonger && line[at - 1] !== ' ')) return at
  }
  return undefined
}

/** Reads `[text](address)`. `more` means that the line could still become a link. Undefined if it can not. */
function readLink(line: string): { readonly text: string; readonly address: string; readonly length: number } | 'more' | undefined {
  let depth = 0
  let at = 0
  for (; at < line.length; at++) {
    if (line[at] === '[') depth += 1
    else if (line[at] === ']' && --depth === 0) break
  }
  if (at + 1 >= line.length) return 'more'
  if (line[at + 1] !== '(') return undefined
  const end = line.indexOf(')', at + 2)
  if (end < 0) return line.includes(' ', at + 2) ? undefined : 'more'
  const address = line.slice(at + 2, end)
  return address === '' || address.includes(' ') ? undefined : { text: line.slice(1, at), address, length: end + 1 }
}
