import type { RenderedDocument, RenderRequest } from '../../../ports/documents.ts'
import { createImageReader, type OfficeImage } from '../office/images.ts'
import { createReaderThreads, threadFile } from '../reader-threads.ts'
import { numberSources } from '../structure/citations.ts'
import { allBlocks, type DocumentBlock, type DocumentImage, imagesOf, plainText } from '../structure/document.ts'
import { unrenderable } from '../structure/packages.ts'
import { readDocument } from '../structure/read-document.ts'
import { sourceBlocks, withTitle } from '../structure/sources-section.ts'
import { typstSource } from './source.ts'
import type { TypstRequest, TypstResponse } from './typst-thread.ts'

/** Makes PDF files with Typst, a typesetter that needs no browser. */
export interface TypstRenderer {
  render(request: RenderRequest): Promise<RenderedDocument>
  close(): Promise<void>
}

/** The width of the text on A4 between the margins, in points. */
const portraitWidth = 482
const landscapeWidth = 728

/**
 * The longest source that is compiled. A thread can not be stopped while Typst compiles, so longer sources are refused before they are
 * compiled.
 */
const maxSourceLength = 5_000_000

const reasons = { too_slow: 'timeout', out_of_memory: 'memory', cancelled: 'cancelled', reader_closed: 'unavailable' } as const

const withoutBrowser = 'The PDF was made without a browser: styles and scripts of HTML have no effect, and fonts and line breaks differ.'

/** Makes a renderer. The thread of Typst starts with the first document, and ends after `idleMs` without a document. */
export function createTypstRenderer({ timeoutMs, idleMs }: { readonly timeoutMs: number; readonly idleMs: number }): TypstRenderer {
  const threads = createReaderThreads<TypstRequest, TypstResponse>({
    file: threadFile(import.meta.url, 'typst/typst-thread'),
    timeoutMs,
    idleMs,
    threads: 1,
    failure: (problem, message) => unrenderable(reasons[problem], `The PDF could not be made: ${message}`),
  })

  const make = (request: RenderRequest, source: string, images: readonly NamedImage[]) => {
    if (source.length > maxSourceLength) throw unrenderable('too_large', 'The document is too long for a PDF without a browser.')
    const files = images.map(({ name, bytes }) => ({ name, bytes: Uint8Array.from(bytes) }))
    return threads.read(request.user ?? '', { source, images: files, time: Math.floor(Date.parse(request.now) / 1_000) }, request.signal)
  }

  /** The images that Typst can not draw: damaged ones, and SVG images that refer to other files. */
  async function findDamaged(request: RenderRequest, images: readonly NamedImage[]): Promise<readonly NamedImage[]> {
    const damaged: NamedImage[] = []
    for (const image of images) if (!(await make(request, `#image("${image.name}")`, [image])).ok) damaged.push(image)
    return damaged
  }

  /** Compiles the document. If this fails, compiles it again without the images that can not be drawn. */
  async function compile(request: RenderRequest, blocks: readonly DocumentBlock[], images: readonly NamedImage[]) {
    const sourceWith = (drawn: readonly NamedImage[]) => {
      const byAddress = new Map(drawn.map((image) => [image.address, image]))
      const source = typstSource(blocks, {
        citations: numberSources(request.sources),
        width: request.landscape ? landscapeWidth : portraitWidth,
        imageFile: ({ address }) => byAddress.get(address),
        title: request.title ?? firstHeading(blocks),
      })
      return request.landscape ? `#set page(flipped: true)\n${source}` : source
    }
    const made = await make(request, sourceWith(images), images)
    const damaged = made.ok ? [] : await findDamaged(request, images)
    if (damaged.length === 0) return { made, damaged }
    const rest = images.filter((image) => !damaged.includes(image))
    return { made: await make(request, sourceWith(rest), rest), damaged }
  }

  return {
    async render(request) {
      const { content, format, readAsset } = request
      if (format === 'mermaid')
        throw unrenderable(
          'unavailable',
          'A diagram needs a browser, and none was found: install Chromium, or write the PDF from Markdown.',
        )
      const read = await readDocument(content, format)
      const sources = request.listSources ? sourceBlocks(numberSources(request.sources)) : []
      const blocks = [...withTitle(read, request.title), ...sources]
      const reader = createImageReader(readAsset)
      const images = await readImages(blocks, reader.read)
      const { made, damaged } = await compile(request, blocks, images)
      if (!made.ok) throw unrenderable('failed', `The PDF could not be made: ${made.message}`)
      const diagrams = [...allBlocks(blocks)].filter(({ kind }) => kind === 'diagram').length
      const remarks = [
        withoutBrowser,
        ...(reader.missing.length > 0 ? [`These files do not exist or are no images: ${reader.missing.join(', ')}.`] : []),
        ...(damaged.length === 0
          ? []
          : [`These images can not be drawn: ${damaged.map(({ address }) => address.slice(0, 200)).join(', ')}.`]),
        ...(diagrams > 0 ? ['Diagrams need a browser and are shown as text.'] : []),
      ]
      return { bytes: made.bytes, pages: made.pages, remarks }
    },
    close: threads.close,
  }
}

interface NamedImage extends OfficeImage {
  readonly address: string
  /** The file name in the source. */
  readonly name: string
}

/** Reads all images of a document, each with a file name of its own. */
async function readImages(
  blocks: readonly DocumentBlock[],
  read: (image: DocumentImage) => Promise<OfficeImage | undefined>,
): Promise<readonly NamedImage[]> {
  const images = new Map<string, NamedImage>()
  for (const image of imagesOf(blocks)) {
    if (images.has(image.address)) continue
    const found = await read(image)
    if (found) images.set(image.address, { ...found, address: image.address, name: `image-${images.size + 1}.${found.type}` })
  }
  return [...images.values()]
}

function firstHeading(blocks: readonly DocumentBlock[]): string | undefined {
  const heading = blocks.find(({ kind }) => kind === 'heading')
  return heading?.kind === 'heading' ? plainText(heading.content) : undefined
}
