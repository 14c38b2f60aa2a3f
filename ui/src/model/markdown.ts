import createParser, { type Token } from 'markdown-it'

/** A node of a parsed markdown text. */
export interface MarkdownNode {
  readonly type: string
  readonly tag: string
  readonly token: Token
  readonly children: readonly MarkdownNode[]
}

// Raw HTML is off: tags in an answer are shown as text. Addresses are checked again when a link is rendered.
const parser = createParser({ html: false, linkify: true, typographer: false, breaks: false })

/** A citation such as `[[S:1,3]]`. Its numbers are in `content`. */
parser.inline.ruler.before('link', 'citation', (state, silent) => {
  const match = /^\[\[S:([\d,\s-]{1,100})\]\]/.exec(state.src.slice(state.pos, state.pos + 110))
  if (!match) return false
  if (!silent) state.push('citation', '', 0).content = match[1] ?? ''
  state.pos += match[0].length
  return true
})

/**
 * Formulas: `$$…$$`, `\\[…\\]` and `\\(…\\)`, and `$…$` where it can not be an amount of money: no space inside of the dollar signs, and no
 * digit after the second one.
 */
const formulas: readonly (readonly [open: string, close: string, block: boolean])[] = [
  ['$$', '$$', true],
  ['\\[', '\\]', true],
  ['\\(', '\\)', false],
  ['$', '$', false],
]
const longestFormula = 4_000

parser.inline.ruler.before('escape', 'formula', (state, silent) => {
  const { src, pos } = state
  if (src[pos] !== '$' && src[pos] !== '\\') return false
  const form = formulas.find(([open]) => src.startsWith(open, pos))
  if (!form) return false
  const [open, close, block] = form
  const start = pos + open.length
  const end = src.slice(start, start + longestFormula).indexOf(close) + start
  const content = src.slice(start, end)
  if (end < start || content.trim() === '') return false
  if (open === '$' && (/^\s|\s$/.test(content) || content.includes('\n') || /\d/.test(src[end + 1] ?? ''))) return false
  if (!silent) {
    const token = state.push('formula', '', 0)
    token.content = content.trim()
    token.block = block
  }
  state.pos = end + close.length
  return true
})

/** Parses markdown into a tree. */
export function parseMarkdown(text: string): readonly MarkdownNode[] {
  return nest(parser.parse(text, {}))
}

/** Makes a tree of the flat list of tokens, in which an element has an opening and a closing token. */
function nest(tokens: readonly Token[]): readonly MarkdownNode[] {
  const root: MarkdownNode[] = []
  const open: MarkdownNode[][] = [root]
  for (const token of tokens) {
    if (token.nesting < 0) {
      if (open.length > 1) open.pop()
      continue
    }
    const children: MarkdownNode[] = token.children ? [...nest(token.children)] : []
    open.at(-1)?.push({ type: token.type, tag: token.tag, token, children })
    if (token.nesting > 0) open.push(children)
  }
  return root
}
