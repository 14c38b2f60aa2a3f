import { advanceCode, createCodeContext, isFenced } from '../stream/code-fence.ts'
import { mayOpenToken, opensToken, readSuperscript, readToken } from './token.ts'

/** A citation found in a text, with the characters it was written in. */
export interface Citation {
  readonly kind: 'cite' | 'usage' | 'superscript'
  readonly ids: readonly number[]
  readonly text: string
}

export interface CitationScannerOptions {
  /** The text is markdown: what stands in a fenced block is code. */
  readonly fences: boolean
  /** The text is HTML: `<sup class="cite">` is a citation too. */
  readonly superscripts: boolean
  /** Whether `draw` may change these. Only then is an unfinished one held back. */
  readonly changesCitations: boolean
  readonly changesUsage: boolean
  /** Called once for each citation that is not code, in order; its answer stands in the output. */
  replace(citation: Citation): string
}

export interface CitationScanner {
  push(text: string): string
  flush(): string
  /** How many characters were read and not handed on. */
  held(): number
}

const backtick = 96
const angle = 60

/** The one reader of citations, for streams and for whole texts. */
export function createCitationScanner(options: CitationScannerOptions): CitationScanner {
  const context = createCodeContext()
  /** Text whose meaning is open: an unfinished citation, or half of a surrogate pair. */
  let pending = ''
  /** How much of it was handed on all the same, because its meaning changes nothing in the output. */
  let sent = 0
  let previous = 0
  let ended = false

  function read(chunk: string): string {
    const text = pending === '' ? chunk : pending + chunk
    const limit = ended || !endsInHighSurrogate(text) ? text.length : text.length - 1
    let out = ''
    let copied = sent
    let at = 0
    let holds = true
    while (at < limit) {
      const start = findStart(text, at, limit)
      pass(text, at, start)
      at = start
      if (at === limit) break
      const found = isCode() ? undefined : readAt(text, at)
      if (found?.kind === 'partial' && !ended) {
        holds = found.holds
        break
      }
      if (found === undefined || found.kind === 'partial') {
        pass(text, at, at + 1)
        at++
        continue
      }
      if (!(previous === backtick && text.charCodeAt(found.end) === backtick)) {
        const source = text.slice(at, found.end)
        const drawn = options.replace({ kind: found.kind, ids: found.ids, text: source })
        if (drawn !== source) {
          out += text.slice(copied, at) + drawn
          copied = found.end
        }
      }
      pass(text, at, found.end)
      at = found.end
    }
    const given = holds ? at : text.length
    out = copied === 0 && given === text.length ? text : out + text.slice(copied, given)
    pending = at === text.length ? '' : text.slice(at)
    sent = Math.max(copied, given) - at
    return out
  }

  /** The citation at `at`; a complete one between backticks waits for the character after it. */
  function readAt(text: string, at: number) {
    const found = text.charCodeAt(at) === angle ? readSuperscript(text, at) : readToken(text, at)
    switch (found.kind) {
      case 'none':
        return undefined
      case 'partial':
        return { kind: 'partial', holds: mayChange(found.cite, found.usage) } as const
      default:
        if (previous === backtick && found.end === text.length && !ended)
          return { kind: 'partial', holds: mayChange(found.kind !== 'usage', found.kind === 'usage') } as const
        return found
    }
  }

  function findStart(text: string, from: number, limit: number): number {
    for (let at = from; at < limit; at++) {
      const code = text.charCodeAt(at)
      if (opensToken(code) ? mayOpenToken(text, at) : code === angle && options.superscripts) return at
    }
    return limit
  }

  function pass(text: string, from: number, to: number): void {
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
    held: () => pending.length - sent,
  }
}

function endsInHighSurrogate(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}
