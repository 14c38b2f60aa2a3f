import type { RenderedDocument, RenderRequest } from '../../../ports/documents.ts'
import { type NumberedSource, numberSources } from '../structure/citations.ts'
import type { Chart, DocumentBlock } from '../structure/document.ts'
import { loadPackage } from '../structure/packages.ts'
import { readDocument } from '../structure/read-document.ts'
import { sourceBlocks, withTitle } from '../structure/sources-section.ts'
import { fileChildren } from './docx-blocks.ts'
import { chartFiles, chartMark, insertCharts, registerCharts, withoutMarks } from './docx-charts.ts'
import { documentStyles, numberingConfig } from './docx-styles.ts'
import type { DocxContext } from './docx-text.ts'
import { numberMatches, packAgain, type Rewriter } from './fixed-zip.ts'
import { createImageReader, type OfficeImage } from './images.ts'

/** A4 with the margins of the PDF, in twips (1/1440 inch). */
const page = { width: 11_906, height: 16_838, margin: { top: 1_417, right: 1_134, bottom: 1_701, left: 1_134 } }

/** The width between the margins, in pixels. One inch is 96 pixels. */
const contentWidth = ((page.width - page.margin.left - page.margin.right) / 1_440) * 96

/** Draws a diagram for a document. Undefined when it can not be drawn. */
export type DrawDiagram = (source: string) => Promise<OfficeImage | undefined>

/** Makes a Word document. Citations are footnotes. */
export async function renderDocx(request: RenderRequest, drawDiagram: DrawDiagram): Promise<RenderedDocument> {
  const docx = await loadPackage('docx', () => import('docx'))
  const { content, format, title, now, listSources, readAsset } = request
  const blocks = await readDocument(withoutMarks(content), format === 'html' ? 'html' : 'markdown')
  const citations = numberSources(request.sources)
  const images = createImageReader(readAsset)
  const footnotes: Record<string, { children: InstanceType<typeof docx.Paragraph>[] }> = {}
  const listStarts = new Set<number>()
  const charts: Chart[] = []
  let lists = 0
  const context: DocxContext = {
    docx,
    images,
    citations,
    drawDiagram,
    width: contentWidth,
    addFootnote(source) {
      const number = Object.keys(footnotes).length + 1
      footnotes[number] = { children: [new docx.Paragraph({ style: 'FootnoteText', children: footnoteRuns(docx, source) })] }
      return number
    },
    addChart: (chart) => chartMark(charts.push(chart)),
    newList(start) {
      listStarts.add(start)
      lists++
      return { reference: `ordered-${start}`, instance: lists }
    },
  }
  const all: readonly DocumentBlock[] = [...withTitle(blocks, title), ...(listSources ? sourceBlocks(citations) : [])]
  const children = await fileChildren(all, context)
  const document = new docx.Document({
    creator: 'Daybook',
    lastModifiedBy: 'Daybook',
    ...(title !== undefined && { title }),
    styles: documentStyles(docx),
    numbering: numberingConfig(
      docx,
      [...listStarts].sort((a, b) => a - b),
    ),
    footnotes,
    sections: [
      {
        properties: { page: { size: { width: page.width, height: page.height }, margin: page.margin } },
        footers: { default: pageNumbers(docx) },
        children: [...children],
      },
    ],
  })
  const bytes = await packAgain(await docx.Packer.toBuffer(document), now, () => createRewriter(now, charts))
  return { bytes, remarks: images.missing.map((address) => `The image ${address} is missing or not a PNG, JPEG, GIF or SVG file.`) }
}

type DocxPackage = DocxContext['docx']

function footnoteRuns(docx: DocxPackage, { title, url }: NumberedSource) {
  const text = new docx.TextRun({ text: ` ${title}${url === undefined ? '' : '. '}` })
  if (url === undefined) return [text]
  return [text, new docx.ExternalHyperlink({ link: url, children: [new docx.TextRun({ text: url, style: 'Hyperlink' })] })]
}

function pageNumbers(docx: DocxPackage) {
  const { CURRENT, TOTAL_PAGES } = docx.PageNumber
  const run = new docx.TextRun({ children: [CURRENT, ' / ', TOTAL_PAGES], color: '6B7785', size: 18 })
  return new docx.Footer({ children: [new docx.Paragraph({ alignment: docx.AlignmentType.CENTER, children: [run] })] })
}

/** Replaces the values that the package takes from the clock, from a random source, or from counters that all documents share. */
function createRewriter(now: string, charts: readonly Chart[]): Rewriter {
  const time = `${now.slice(0, 19)}Z`
  const relations = new Map<string, number>()
  const [drawings, bookmarks] = [new Map<string, number>(), new Map<string, number>()]
  return {
    name: (name) => name,
    added: chartFiles(charts),
    text(name, text) {
      if (name === 'docProps/core.xml') return text.replace(/(<dcterms:(?:created|modified)[^<>]{0,99}>)[^<>]{0,40}(?=<)/g, `$1${time}`)
      const numbered = numberMatches(text, /"rId([a-z0-9_-]{21})"/g, relations, (number) => `Link${number}`)
      const drawn = numberMatches(numbered, /<wp:docPr id="(\d{1,9})"/g, drawings, String)
      const marked = numberMatches(drawn, /<w:bookmark(?:Start|End)[^<>]{0,99} w:id="(\d{1,9})"/g, bookmarks, String)
      return name === 'word/document.xml' ? insertCharts(marked, charts) : registerCharts(name, marked, charts)
    },
  }
}
