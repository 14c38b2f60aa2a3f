/**
 * The parts of a regular expression that decide which texts are slow for it. Assertions such as `\b` and `$` are left out, because a text
 * that matches the other parts usually reaches the repeated parts too.
 */
export type Part =
  | { readonly kind: 'one'; readonly samples: readonly string[] } // one character, with samples that match
  | { readonly kind: 'all'; readonly parts: readonly Part[] }
  | { readonly kind: 'either'; readonly parts: readonly Part[] }
  | { readonly kind: 'repeat'; readonly part: Part; readonly min: number; readonly max: number }
  | { readonly kind: 'look'; readonly part: Part } // lookahead or lookbehind: consumes no text

/** Characters that are tried as samples of a class. */
const candidates = [...' \t\n\raeszAZ09_-.,:;/\\"\'`<>()[]{}=&#*|!?@+%$~^é中…—', '\u00a0', '\u0301', '\u200b']

export function parseExpression({ source, flags }: RegExp): Part {
  let at = 0
  const mode = flags.replace(/[gy]/g, '')
  const take = (text: string) => {
    if (!source.startsWith(text, at)) return false
    at += text.length
    return true
  }
  return either()

  function either(): Part {
    const parts = [all()]
    while (take('|')) parts.push(all())
    return parts.length === 1 ? (parts[0] as Part) : { kind: 'either', parts }
  }

  function all(): Part {
    const parts: Part[] = []
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const part = repeated(atom())
      if (part !== undefined) parts.push(part)
    }
    return { kind: 'all', parts }
  }

  function repeated(part: Part | undefined): Part | undefined {
    const [quantifier, star, min, comma, max] = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(source.slice(at, at + 24)) ?? []
    if (quantifier === undefined) return part
    at += quantifier.length
    if (part === undefined) return undefined
    if (star !== undefined) return { kind: 'repeat', part, min: star === '+' ? 1 : 0, max: star === '?' ? 1 : Number.POSITIVE_INFINITY }
    const highest = comma === '' ? Number(min) : max === '' ? Number.POSITIVE_INFINITY : Number(max)
    return { kind: 'repeat', part, min: Number(min), max: highest }
  }

  function atom(): Part | undefined {
    if (take('(')) {
      const look = take('?=') || take('?!') || take('?<=') || take('?<!')
      if (!look && !take('?:')) at += /^\?(?:<\w+>|[a-z-]+:)/.exec(source.slice(at, at + 64))?.[0].length ?? 0
      const part = either()
      if (!take(')')) throw new Error(`unbalanced parenthesis in ${source}`)
      return look ? { kind: 'look', part } : part
    }
    if (take('^') || take('$')) return undefined
    const start = at
    if (take('[')) {
      while (source[at] !== ']') at += source[at] === '\\' ? 2 : 1
      at += 1
    } else if (take('\\')) {
      if (/[bB1-9]/.test(source[at] ?? '')) {
        at += 1
        return undefined
      }
      at += /^(?:[pP]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|u\{[^}]*\}|.)/su.exec(source.slice(at))?.[0].length ?? 1
    } else at += String.fromCodePoint(source.codePointAt(at) ?? 0).length
    return one(source.slice(start, at))
  }

  function one(text: string): Part {
    if (!/^[[\\.]/.test(text)) return { kind: 'one', samples: [text] }
    const test = new RegExp(`^${text}$`, mode)
    const own = [...new Set(text.replace(/\\[pPux]\{?[^}\\]*\}?/g, ''))].filter((character) => test.test(character))
    return { kind: 'one', samples: [...new Set([...own, ...candidates.filter((character) => test.test(character))])] }
  }
}
