import { advanceCode, createCodeContext, isFenced } from '../stream/code-fence.ts'
import { opensToken, readSuperscript, readToken } from './token.ts'

/** A citation in a text, or a `[[USAGE:…]]` tag. `text` is the citation as it was written. */
export interface Citation {
  readonly kind: 'cite' | 'usage' | 'superscript'
  readonly ids: readonly number[]
  readonly text: string
}

export interface CitationScannerOptions {
  /** When true, citations in fenced code blocks are ignored. */
  readonly fences: boolean
  /**
   * When true, a citation directly between two backticks is passed to `replace`. When false, it is treated as code and not passed.
   */
  readonly inCode?: boolean
  /** When true, HTML such as `<sup class="cite" data-sids="1">…</sup>` is also found as a citation. */
  readonly superscripts: boolean
  /**
   * Whether `replace` may return another text for a citation. If false, `push` does not hold back citations: it returns the beginning of a
   * citation before the rest has arrived.
   */
  readonly changesCitations: boolean
  /**
   * Whether `replace` may return another text for a `[[USAGE:…]]` tag. If false, `push` returns the beginning of such a tag before the rest
   * has arrived.
   */
  readonly changesUsage: boolean
  /** Whether `replace` may return a link in markdown. If true, the scanner escapes an exclamation mark or a backslash before the link. */
  readonly links?: boolean
  /** Called once for each citation that is not in code, in the order of the text. Returns the text that replaces the citation. */
  replace(citation: Citation): string
}

export interface CitationScanner {
  /**
   * Takes the next chunk and returns the text with its citations replaced. If the chunk ends inside a possible citation, the beginning of
   * this citation is held back until a later call shows whether it is a citation.
   */
  push(text: string): string
  flush(): string
  /**
   * Ends an incomplete input, for example when the user stopped the turn. If the input ends with the beginning of a citation or with half
   * of a surrogate pair, these last characters are dropped.
   */
  cut(): CutEnd
  /** The number of characters that were passed to `push` and are held back. */
  held(): number
}

/** What `cut` returns for the characters that were held back. */
export interface CutEnd {
  /**
   * The part of the held back text that belongs to the output. It is empty or an exclamation mark. An exclamation mark is held back because
   * it has to be escaped if a link follows.
   */
  readonly rest: string
  /**
   * The number of characters at the end of the input that are dropped, because they are an incomplete citation or half of a surrogate pair.
   */
  readonly dropped: number
}

const backtick = 96
const angle = 60

/**
 * Finds citations in a text that arrives in chunks. All code that looks for citations uses this scanner, so that it finds the same
 * citations everywhere.
 */
export function createCitationScanner(options: CitationScannerOptions): CitationScanner {
  const context = createCodeContext()
  /**
   * The end of the input, if it may be the beginning of a citation or is half of a surrogate pair. It is read again with the next chunk.
   */
  let pending = ''
  /**
   * The number of characters in `pending` that `push` has already returned. `push` returns them early when `replace` can not change the
   * citation.
   */
  let sent = 0
  let previous = 0
  let ended = false
  /** `!` if the output ends with an exclamation mark that `push` has not returned yet. If a link follows, the mark must be escaped. */
  let mark = ''
  /** The number of backslashes at the end of the returned text. */
  let backslashes = 0

  function read(chunk: string): string {
    const text = pending === '' ? chunk : pending + chunk
    const limit = ended || !endsInHighSurrogate(text) ? text.length : text.length - 1
    // The output is kept as a list of pieces. With a single string, checking its end after every citation would take quadratic time.
    const pieces: string[] = []
    let last = mark
    let beforeLast = backslashes // the number of backslashes directly before `last`
    const append = (piece: string) => {
      if (piece === '') return
      if (last !== '') {
        beforeLast = countBackslashes(last, last.length, beforeLast)
        pieces.push(last)
      }
      last = piece
    }
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
          append(text.slice(copied, at))
          if (options.links && replacement.startsWith('[')) last = escapeEnd(last, beforeLast)
          append(replacement)
          copied = match.end
        }
      }
      advance(text, at, match.end)
      at = match.end
    }
    const end = holds ? at : text.length
    append(text.slice(copied, end))
    const out = pieces.length === 0 ? last : pieces.join('') + last
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
   * Reads the citation at `at`. If there is a backtick before the citation, the function must also know the character after the citation,
   * because a citation between two backticks is code. Until this character has arrived, the result is `partial`.
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
    cut() {
      if (ended) return { rest: '', dropped: 0 }
      ended = true
      return { rest: mark, dropped: pending.length - sent }
    },
    held: () => pending.length - sent + mark.length,
  }
}

/**
 * Escapes the last character before a link. A `!` before the link would make it an image, and a backslash would make it plain text.
 * `before` is the number of backslashes directly before `out`.
 */
function escapeEnd(out: string, before: number): string {
  const isMark = out.endsWith('!')
  const end = isMark ? out.length - 1 : out.length
  const isEscaped = countBackslashes(out, end, before) % 2 === 1
  return isEscaped === isMark ? out : `${out.slice(0, end)}\\${out.slice(end)}`
}

/** The number of backslashes directly before `end`. `before` is the number of backslashes directly before `text`. */
function countBackslashes(text: string, end: number, before: number): number {
  let start = end
  while (text[start - 1] === '\\') start--
  return end - start + (start === 0 ? before : 0)
}

function endsInHighSurrogate(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}
