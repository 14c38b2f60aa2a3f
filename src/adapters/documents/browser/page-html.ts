import type { RenderRequest } from '../../../ports/documents.ts'
import { numberSources, type SourceNumbers } from '../structure/citations.ts'
import { drawChart } from '../structure/draw-chart.ts'
import { elementsBelow, escapeHtml, textOf } from '../structure/html.ts'
import { markdownToHtml } from '../structure/markdown.ts'
import { parseHtml } from '../structure/parse-html.ts'
import { readChart } from '../structure/read-table.ts'
import { baseStyle, reportStyle, textFonts } from './print-style.ts'

/** A page for the browser. */
export interface DocumentPage {
  readonly html: string
  /** Whether the page has diagrams to draw. */
  readonly hasDiagrams: boolean
  /** Whether the content is a complete HTML document. If so, the document itself sets its margins and page numbers. */
  readonly complete: boolean
  /** Whether scripts of the author may run. */
  readonly hasScripts: boolean
}

/** A request with its page. */
export interface PageRequest extends RenderRequest {
  readonly document: DocumentPage
}

/** Makes the page of a document: with citations as links, a list of sources, charts and a title. */
export async function documentPage(request: Omit<RenderRequest, 'readAsset'>): Promise<DocumentPage> {
  const { content, format, title, listSources } = request
  if (format === 'mermaid') {
    const html = wrap(`<pre class="mermaid">${escapeHtml(content)}</pre>`, title ?? 'Diagram', diagramStyle)
    return { html, hasDiagrams: true, complete: false, hasScripts: false }
  }
  const citations = numberSources(request.sources)
  const isMarkdown = format === 'markdown'
  const complete = !isMarkdown && /<(?:!doctype|html|head|body)\b/i.test(content.slice(0, 5_000))
  const written = isMarkdown ? await markdownToHtml(content) : content
  const cited = linkCitations(await drawCharts(written), citations, listSources)
  const hasDiagrams = /<pre\b[^>]{0,500}\bmermaid\b/i.test(cited)
  const sources = listSources ? sourcesSection(citations) : ''
  const html = complete
    ? completePage(cited, sources)
    : wrap(`${await titleHeading(cited, title)}${cited}${sources}`, title ?? (await firstHeading(cited)), reportStyle)
  return { html, hasDiagrams, complete, hasScripts: scripted.test(content) }
}

/** Matches HTML that may run scripts. Frames may show files that have scripts. */
const scripted = /<(?:script|iframe|frame|object|embed)\b|[\s/"']on[a-z]{3,20}\s{0,9}=|javascript:/i

const diagramStyle = `body{margin:0;font-family:${textFonts}}pre.mermaid{margin:0;display:inline-block}`

const wrap = (body: string, title: string, style: string) =>
  `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title><style>${baseStyle}${style}</style></head><body>${body}</body></html>`

/** A complete document with our styles at its beginning and the sources at its end. */
function completePage(html: string, sources: string): string {
  const added = `<style>${baseStyle}:where(body){font-family:${textFonts}}</style>`
  const [head] = /<head\b[^>]{0,999}>/i.exec(html.slice(0, 20_000)) ?? []
  const [doctype = ''] = /^\s{0,99}<!doctype[^>]{0,999}>/i.exec(html) ?? []
  const styled =
    head === undefined
      ? `${doctype || '<!DOCTYPE html>'}${added}${html.slice(doctype.length)}`
      : html.replace(head, () => `${head}${added}`)
  const end = styled.toLowerCase().lastIndexOf('</body')
  return end === -1 ? `${styled}${sources}` : `${styled.slice(0, end)}${sources}${styled.slice(end)}`
}

/** Replaces tables with `data-chart` by pictures. */
async function drawCharts(html: string): Promise<string> {
  if (!/data-chart/i.test(html)) return html
  const tables = [...elementsBelow(await parseHtml(html))].filter(({ name }) => name === 'table')
  let drawn = ''
  let at = 0
  for (const table of tables) {
    const block = table.start < at ? undefined : readChart(table)
    if (block?.kind !== 'chart') continue
    drawn += `${html.slice(at, table.start)}${drawChart(block.chart).svg}`
    at = table.end
  }
  return drawn + html.slice(at)
}

/** Writes the numbers of sources into citations. A number links to the list of sources or, without a list, to the source itself. */
function linkCitations(html: string, citations: SourceNumbers, listSources: boolean): string {
  return html.replace(/<sup class="cite" data-sids="([\d,]{1,999})"><\/sup>/g, (_, sids: string) => {
    const sources = citations.of(sids.split(',').map(Number))
    const marks = sources.map(({ number, url, title }) => {
      const address = listSources ? `#source-${number}` : url
      return address === undefined ? `${number}` : `<a href="${escapeHtml(address)}" title="${escapeHtml(title)}">${number}</a>`
    })
    return marks.length === 0 ? '' : `<sup class="cite" data-sids="${sids}">[${marks.join(',')}]</sup>`
  })
}

function sourcesSection({ sources }: SourceNumbers): string {
  if (sources.length === 0) return ''
  const items = sources.map(({ number, title, url }) => {
    const address = url === undefined ? '' : `<br><a href="${escapeHtml(url)}">${escapeHtml(url)}</a>`
    return `<li id="source-${number}" dir="auto">${escapeHtml(title)}${address}</li>`
  })
  return `<section class="sources"><h2>Sources</h2><ol>${items.join('')}</ol></section>`
}

/** The title as a heading. Empty when there is no title, or when the content begins with a heading of level 1. */
async function titleHeading(html: string, title: string | undefined): Promise<string> {
  if (title === undefined || title.trim() === '') return ''
  const [first] = (await parseHtml(html.slice(0, 20_000))).children.filter((node) => typeof node !== 'string' || node.trim() !== '')
  return typeof first === 'object' && first.name === 'h1' ? '' : `<h1 dir="auto">${escapeHtml(title)}</h1>`
}

async function firstHeading(html: string): Promise<string> {
  const heading = [...elementsBelow(await parseHtml(html.slice(0, 20_000)))].find(({ name }) => /^h[1-3]$/.test(name))
  return heading ? textOf(heading).trim() : 'Document'
}
