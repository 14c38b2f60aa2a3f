import type MarkdownItFactory from 'markdown-it'
import type { MarkdownIt } from 'markdown-it'
import { escapeHtml } from './html.ts'
import { loadPackage } from './packages.ts'

let parser: MarkdownIt | undefined

/**
 * Converts Markdown to HTML. HTML in the Markdown is kept. Two kinds of fenced code have a meaning: `mermaid` becomes
 * `<pre class="mermaid">`, and `chart <type> <title>` around a table becomes `<table data-chart="<type>">`.
 */
export async function markdownToHtml(text: string): Promise<string> {
  parser ??= createParser((await loadPackage('markdown-it', () => import('markdown-it'))).default)
  return parser.render(text)
}

/** Elements that get `dir="auto"`, so that each of them has the direction of its own text. */
const directed: ReadonlySet<string> = new Set([
  ...['paragraph_open', 'heading_open', 'list_item_open', 'blockquote_open', 'td_open', 'th_open'],
])

function createParser(Markdown: typeof MarkdownItFactory): MarkdownIt {
  const markdown = new Markdown({ html: true, linkify: false, typographer: false })
  markdown.core.ruler.push('direction_and_anchors', ({ tokens }) => {
    const anchors = new Map<string, number>()
    for (const [index, token] of tokens.entries()) {
      if (directed.has(token.type)) token.attrSet('dir', 'auto')
      if (token.type === 'inline') replaceMark(token, tokens[index - 2]?.type)
      if (token.type === 'heading_open') token.attrSet('id', uniqueAnchor(tokens[index + 1]?.content ?? '', anchors))
    }
  })
  const codeFence = markdown.renderer.rules.fence
  markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    const [kind = '', type = '', ...title] = token?.info.trim().split(/\s+/) ?? []
    if (token && kind === 'mermaid') return `<pre class="mermaid">${escapeHtml(token.content)}</pre>\n`
    // A chart inside a chart is shown as code. Otherwise many nested fences would take very long.
    if (token && kind === 'chart' && env?.inChart !== true)
      return chartTable(markdown.render(token.content, { inChart: true }), type, title.join(' '))
    return codeFence?.(tokens, index, options, env, self) ?? ''
  }
  return markdown
}

type Token = ReturnType<MarkdownIt['parse']>[number]

const alerts: Readonly<Record<string, string>> = {
  ...{ '[!NOTE]': 'Note', '[!TIP]': 'Tip', '[!IMPORTANT]': 'Important', '[!WARNING]': 'Warning', '[!CAUTION]': 'Caution' },
}

/**
 * Shows `[x]` at the beginning of a list item as a box, and `[!NOTE]` at the beginning of a quotation as a word. `parent` is the type of
 * the token around the paragraph.
 */
function replaceMark({ children }: Token, parent: string | undefined): void {
  const first = children?.[0]
  if (first?.type !== 'text') return
  if (parent === 'list_item_open' && /^\[[ xX]\] /.test(first.content))
    first.content = `${first.content[1] === ' ' ? '☐' : '☑'} ${first.content.slice(4)}`
  else if (parent === 'blockquote_open' && Object.hasOwn(alerts, first.content.trim())) first.content = `${alerts[first.content.trim()]}:`
}

function chartTable(html: string, type: string, title: string): string {
  const attributes = `data-chart="${escapeHtml(type)}"${title === '' ? '' : ` data-title="${escapeHtml(title.replaceAll('"', ''))}"`}`
  return html.replace('<table>', `<table ${attributes}>`)
}

/**
 * The anchor of a heading: its words in lower case, joined by hyphens. If another heading has this anchor, a number is added. `taken` has
 * the last number that was tried for each anchor, so that many equal headings do not take quadratic time.
 */
function uniqueAnchor(text: string, taken: Map<string, number>): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['section']
  const base = words.join('-')
  let count = taken.get(base) ?? 1
  let anchor = count === 1 ? base : `${base}-${count}`
  while (taken.has(anchor)) anchor = `${base}-${++count}`
  taken.set(base, count)
  taken.set(anchor, Math.max(1, taken.get(anchor) ?? 1))
  return anchor
}
