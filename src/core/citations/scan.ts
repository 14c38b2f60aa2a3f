import { advanceCode, createCodeContext, isFenced } from '../stream/code-fence.ts'
import { opensToken, readSuperscript, readToken } from './token.ts'

/** A citation in a text. `text` is how it was written. */
export interface Citation {
  readonly kind: 'cite' | 'usage' | 'superscript'
  readonly ids: readonly number[]
  readonly text: string
}

export interface CitationScannerOptions {
  /** True when citations in fenced code blocks are ignored. */
  readonly fences: boolean
  /** True when a citation between backticks counts. */
  readonly inCode?: boolean
  /** True when `<sup class="cite">` is a citation, too. */
  readonly superscripts: boolean
  /** True when `replace` may change citations. Only then is an unfinished citation held back. */
  readonly changesCitations: boolean
  /** True when `replace` may change `[[USAGE:…]]` tags. */
  readonly changesUsage: boolean
  /** True when `replace` may return a link in markdown. An exclamation mark or a backslash before the link is then escaped. */
  readonly links?: boolean
  /** Called once for each citation outside of code, in order. Returns the text to put in its place. */
  replace(citation: Citation): string
}

export interface CitationScanner {
  /**
   * Returns the text that can not be part of an unfinished citation, with its citations replaced. The rest is held until more text
   * arrives.
   */
  push(text: string): string
  flush(): string
  /** The number of pushed characters that were not returned yet. */
  held(): number
}

const backtick = 96
const angle = 60

/** Finds citations in a text that arrives in chunks. All code that reads citations uses this scanner, so that it finds the same ones. */
export function createCitationScanner(options: CitationScannerOptions): CitationScanner {
  const context = createCodeContext()
  /** The end of the input, when it may become a citation or is half of a surrogate pair. It is read again with the next chunk. */
  let pending = ''
  /** The number of characters in `pending` that were returned already, because `replace` would not change such a citation. */
  let sent = 0
  let previous = 0
  let ended = false
  /** An exclamation mark at the end of the output so far. It is returned when the text after it is known. */
  let mark = ''
  /** The number of backslashes at the end of the returned text. */
  let backslashes = 0

  function read(chunk: string): string {
    const text = pending === '' ? chunk : pending + chunk
    const limit = ended || !endsInHighSurrogate(text) ? text.length : text.length - 1
    let out = mark
    let copied = sent
    let at = 0
    let holds = true
    while (at < limit) {
      const start = findStart(text, at, limit)
      advance(text, at, start)
      at = start
      if (at === limit) break
      const match = isCode() ? undefined : readAt(text, at)
      if (match?.kind === 'partial' && !ended) {
        holds = match.holds
        break
      }
      if (match === undefined || match.kind === 'partial') {
        advance(text, at, at + 1)
        at++
        continue
      }
      if (options.inCode || !(previous === backtick && text.charCodeAt(match.end) === backtick)) {
        const source = text.slice(at, match.end)
        const replacement = options.replace({ kind: match.kind, ids: match.ids, text: source })
        if (replacement !== source) {
          out += text.slice(copied, at)
          if (options.links && replacement.startsWith('[')) out = escapeEnd(out, backslashes)
          out += replacement
          copied = match.end
        }
      }
      advance(text, at, match.end)
      at = match.end
    }
    const end = holds ? at : text.length
    out += text.slice(copied, end)
    pending = at === text.length ? '' : text.slice(at)
    sent = Math.max(copied, end) - at
    return options.links ? holdMark(out) : out
  }

  function holdMark(out: string): string {
    mark = !ended && out.endsWith('!') ? '!' : ''
    const returned = mark === '' ? out : out.slice(0, -1)
    backslashes = countBackslashes(returned, returned.length, backslashes)
    return returned
  }

  /**
   * Reads the citation at `at`. A citation after a backtick is complete only when the next character is known, because a second backtick
   * would make it code.
   */
  function readAt(text: string, at: number) {
    const match = text.charCodeAt(at) === angle ? readSuperscript(text, at) : readToken(text, at)
    switch (match.kind) {
      case 'none':
        return undefined
      case 'partial':
        return { kind: 'partial', holds: mayChange(match.cite, match.usage) } as const
      default:
        if (previous === backtick && match.end === text.length && !ended)
          return { kind: 'partial', holds: mayChange(match.kind !== 'usage', match.kind === 'usage') } as const
        return match
    }
  }

  function findStart(text: string, from: number, limit: number): number {
    for (let at = from; at < limit; at++) {
      const code = text.charCodeAt(at)
      if (opensToken(code) || (code === angle && options.superscripts)) return at
    }
    return limit
  }

  function advance(text: string, from: number, to: number): void {
    if (from >= to) return
    if (options.fences) advanceCode(context, text, from, to)
    previous = text.charCodeAt(to - 1)
  }

  const isCode = () => options.fences && isFenced(context)
  const mayChange = (cite: boolean, usage: boolean) => (cite && options.changesCitations) || (usage && options.changesUsage)

  return {
    push: (text) => (text === '' || ended ? '' : read(text)),
    flush: () => {
      if (ended) return ''
      ended = true
      return read('')
    },
    held: () => pending.length - sent + mark.length,
  }
}

/**
 * Escapes the last character before a link: `!` would make an image of the link, and a backslash would make it plain text. `before` is the
 * number of backslashes in front of `out`.
 */
function escapeEnd(out: string, before: number): string {
  const isMark = out.endsWith('!')
  const end = isMark ? out.length - 1 : out.length
  const isEscaped = countBackslashes(out, end, before) % 2 === 1
  return isEscaped === isMark ? out : `${out.slice(0, end)}\\${out.slice(end)}`
}

/** The number of backslashes directly before `end`. `before` is their number in front of the text. */
function countBackslashes(text: string, end: number, before: number): number {
  let start = end
  while (text[start - 1] === '\\') start--
  return end - start + (start === 0 ? before : 0)
}

function endsInHighSurrogate(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}
