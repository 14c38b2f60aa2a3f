import type PptxGenJS from 'pptxgenjs'
import type { RenderedDocument, RenderRequest } from '../../../ports/documents.ts'
import { type NumberedSource, numberSources, type SourceNumbers } from '../structure/citations.ts'
import { type Inline, plainText } from '../structure/document.ts'
import { loadPackage } from '../structure/packages.ts'
import { readDocument } from '../structure/read-document.ts'
import { sourceBlocks } from '../structure/sources-section.ts'
import type { DrawDiagram } from './docx.ts'
import { numberMatches, packAgain, type Rewriter } from './fixed-zip.ts'
import { createImageReader } from './images.ts'
import { placeBlocks, type SlideContext } from './pptx-blocks.ts'
import { heightOf, paginate, sum } from './pptx-layout.ts'
import { paragraphRuns, type TextSetting } from './pptx-text.ts'
import { type SlideContent, splitSlides } from './slides.ts'

type Presentation = PptxGenJS.default
type Slide = PptxGenJS.default.Slide

/** A wide slide, in inches: its size, and the space for blocks below the title. */
const size = { width: 13.333, height: 7.5 }
const body = { x: 0.65, y: 1.4, width: 12.03, height: 5.35 }

const dark = '1B2733'
const accent = '1F5FA8'

/**
 * Scales to try, so that the blocks of a slide fit. If the blocks do not fit even with the smallest scale, they are continued on the next
 * slide.
 */
const scales = [1, 0.9, 0.8]

/** Makes a presentation. Citations are numbers, and each slide lists the sources that it cites. */
export async function renderPptx(request: RenderRequest, drawDiagram: DrawDiagram): Promise<RenderedDocument> {
  const loaded = await loadPackage('pptxgenjs', () => import('pptxgenjs'))
  // The types of the package describe its CommonJS form, in which the class is one level deeper.
  const Pptx = loaded.default as unknown as new () => Presentation
  const { content, format, title, listSources, now, readAsset } = request
  const citations = numberSources(request.sources)
  const blocks = await readDocument(content, format === 'html' ? 'html' : 'markdown')
  const images = createImageReader(readAsset)
  const presentation = new Pptx()
  presentation.layout = 'LAYOUT_WIDE'
  presentation.author = 'Daybook'
  presentation.company = 'Daybook'
  presentation.subject = ''
  presentation.title = title ?? plainText(splitSlides(blocks, undefined)[0]?.title ?? [])
  presentation.theme = { headFontFace: 'Calibri', bodyFontFace: 'Calibri' }
  const context = { images, drawDiagram }
  let count = 0
  for (const slide of [...splitSlides(blocks, title), ...(listSources ? sourceSlides(citations) : [])]) {
    count += await addSlides(slide, citations, presentation, context)
  }
  if (count === 0) presentation.addSlide() // programs refuse a presentation without a slide
  const archive = (await presentation.write({ outputType: 'nodebuffer' })) as Uint8Array // a Buffer, because of `outputType`
  const remarks = images.missing.map((address) => `The image ${address} is missing or not a PNG, JPEG, GIF or SVG file.`)
  return { bytes: await packAgain(archive, now, (names) => createRewriter(now, names)), pages: Math.max(1, count), remarks }
}

const sourceSlides = (citations: SourceNumbers): readonly SlideContent[] => {
  const [, list] = sourceBlocks(citations)
  return list ? [{ title: [{ kind: 'text', text: 'Sources' }], blocks: [list], notes: '', look: {}, opening: false }] : []
}

/** Adds a slide and, if its blocks do not fit on it, further slides. Returns how many slides were added. */
async function addSlides(
  content: SlideContent,
  citations: SourceNumbers,
  presentation: Presentation,
  context: Omit<SlideContext, 'slide' | 'setting' | 'scale'>,
): Promise<number> {
  if (content.opening) {
    addOpening(content, citations, presentation)
    return 1
  }
  const place = content.title.length === 0 ? { ...body, y: 0.6, height: body.height + body.y - 0.6 } : body
  const height = (scale: number) => sum(content.blocks.map((block) => heightOf(block, place.width, scale)))
  const scale = scales.find((each) => height(each) <= place.height) ?? scales.at(-1) ?? 1
  const pages = paginate(content.blocks, place.width, place.height, scale)
  for (const [index, blocks] of pages.entries()) {
    const slide = presentation.addSlide()
    if (content.look.background !== undefined) slide.background = { color: content.look.background }
    const cited = new Map<number, NumberedSource>()
    const colour = content.look.colour ?? dark
    const setting: TextSetting = { size: 18, colour, citations, onCite: (source) => void cited.set(source.number, source) }
    addTitle(slide, index === 0 ? content.title : continued(content.title), { ...setting, colour: content.look.colour ?? '14395F' })
    await placeBlocks(blocks, place, { ...context, slide, setting, scale })
    addFootnotes(slide, [...cited.values()])
    if (index === 0 && content.notes !== '') slide.addNotes(content.notes)
  }
  return pages.length
}

const continued = (title: readonly Inline[]): readonly Inline[] =>
  title.length === 0 ? [] : [...title, { kind: 'text', text: ' (continued)' }]

function addTitle(slide: Slide, title: readonly Inline[], setting: TextSetting): void {
  if (title.length === 0) return
  const runs = paragraphRuns(title, {}, { bold: true }, { ...setting, size: plainText(title).length > 60 ? 24 : 30 })
  slide.addText([...runs], { x: body.x, y: 0.35, w: body.width, h: 0.9, valign: 'middle', margin: 0 })
}

function addOpening({ title, blocks, look, notes }: SlideContent, citations: SourceNumbers, presentation: Presentation): void {
  const slide = presentation.addSlide()
  if (look.background !== undefined) slide.background = { color: look.background }
  const cited = new Map<number, NumberedSource>()
  const onCite = (source: NumberedSource) => void cited.set(source.number, source)
  const setting: TextSetting = { size: 40, colour: look.colour ?? '14395F', citations, onCite }
  slide.addShape('rect', { x: body.x, y: 3.72, w: 1.6, h: 0.06, fill: { color: accent }, line: { color: accent, width: 0 } })
  slide.addText([...paragraphRuns(title, {}, { bold: true }, setting)], {
    x: body.x,
    y: 1.6,
    w: body.width,
    h: 2,
    valign: 'bottom',
    margin: 0,
  })
  const lines = blocks.flatMap((block) =>
    'content' in block ? paragraphRuns(block.content, block.look, {}, { ...setting, size: 20, colour: look.colour ?? '4A5563' }) : [],
  )
  if (lines.length > 0) slide.addText([...lines], { x: body.x, y: 3.95, w: body.width, h: 1.8, valign: 'top', margin: 0 })
  addFootnotes(slide, [...cited.values()])
  if (notes !== '') slide.addNotes(notes)
}

/** Lists the sources of a slide at its lower edge. */
function addFootnotes(slide: Slide, sources: readonly NumberedSource[]): void {
  if (sources.length === 0) return
  const shown = sources.toSorted((a, b) => a.number - b.number).slice(0, 4)
  const runs = shown.map(({ number, title, url }) => ({
    text: `[${number}] ${title.length > 110 ? `${title.slice(0, 109)}…` : title}`,
    options: { breakLine: true, fontSize: 9, color: '6B7785', ...(url !== undefined && { hyperlink: { url } }) },
  }))
  slide.addText(runs, {
    x: body.x,
    y: size.height - 0.15 - 0.17 * shown.length,
    w: body.width,
    h: 0.17 * shown.length,
    margin: 0,
    valign: 'bottom',
  })
}

/**
 * Replaces the values that the package takes from the clock, from a random source, or from a counter that all presentations share. The
 * counter numbers the files of charts.
 */
function createRewriter(now: string, names: readonly string[]): Rewriter {
  const time = `${now.slice(0, 19)}Z`
  const creations = new Map<string, number>()
  const counted = names.flatMap((name) => /\/chart(\d{1,9})\.xml$/.exec(name)?.[1] ?? []).map(Number)
  const charts = new Map(counted.sort((a, b) => a - b).map((number, index) => [number, index + 1]))
  const renumber = (text: string) =>
    text.replace(/\b(chart|Microsoft_Excel_Worksheet)(\d{1,9})(?=\.xml|\.xlsx)/g, (all, kind: string, number: string) =>
      charts.has(Number(number)) ? `${kind}${charts.get(Number(number))}` : all,
    )
  return {
    name: renumber,
    text(name, text) {
      const dated = text.replace(/(<dcterms:(?:created|modified)[^<>]{0,99}>)[^<>]{0,40}(?=<)/g, `$1${time}`)
      const numbered = /\.rels$|Content_Types/.test(name) ? renumber(dated) : dated
      const paragraphs = /^ppt\/slides\/[^/]{1,99}\.xml$/.test(name)
        ? numbered.replace(/<a:p>[\s\S]*?<\/a:p>/g, withOneProperties)
        : numbered
      return numberMatches(paragraphs, /<p14:creationId[^<>]{0,199} val="(\d{1,12})"/g, creations, (number) => `${1_000_000 + number}`)
    },
  }
}

/**
 * The package writes the properties of a paragraph before each of its runs. PowerPoint accepts them only at the beginning of the paragraph.
 */
function withOneProperties(paragraph: string): string {
  const [first = '', ...rest] = paragraph.split('<a:r>')
  return [first, ...rest.map((run) => run.replace(/<a:pPr(?:[^<>]{0,999}\/>|[\s\S]*?<\/a:pPr>)/, ''))].join('<a:r>')
}
