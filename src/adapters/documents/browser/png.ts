import type { Page } from 'playwright-core'
import type { PictureOptions, RenderedDocument } from '../../../ports/documents.ts'
import { unrenderable } from '../structure/packages.ts'
import { fitTables } from './fit-tables.ts'
import { type BlankPage, type PageView, showDocument } from './open-page.ts'
import { type Box, remarksOf, visibleBox } from './page-checks.ts'
import type { PageRequest } from './page-html.ts'
import { failOnDiagram } from './pdf.ts'

/** The options of a picture if the request has none. */
export const defaultPicture: PictureOptions = {
  delayMs: 1_000,
  fit: 'content',
  padding: 32,
  background: 'white',
  fullPage: true,
  width: 3_000,
  height: 2_000,
  scale: 2,
  mermaid: {},
}

/** The limits of a picture: the longest side that Chromium can draw, and the number of pixels. */
const maxSide = 16_000
const maxPixels = 100_000_000

export const pictureView = ({ width, height, scale, delayMs, baseFolder = '', mermaid }: PictureOptions): PageView => ({
  width,
  height,
  scale,
  delayMs,
  baseFolder,
  mermaid,
})

/** Takes a picture of a document. */
export async function renderPng(blank: BlankPage, request: PageRequest): Promise<RenderedDocument> {
  const options = request.picture ?? defaultPicture
  const opened = await showDocument(blank, request, pictureView(options))
  failOnDiagram(opened, request)
  const { page } = opened
  const transparent = options.background === 'transparent'
  // the style begins with a comment, because Playwright refuses an empty style
  await page.addStyleTag({ content: `/**/${pageStyle(options, request.format === 'markdown')}` })
  if (!request.document.complete && request.document.html.includes('<table')) await fitTables(page)
  const content = await paddedBox(page, options)
  const clip = await clipOf(page, options, content)
  checkSize(clip, options)
  const bytes = await page.screenshot({
    type: 'png',
    fullPage: true,
    clip,
    omitBackground: transparent,
    animations: 'disabled',
    caret: 'hide',
    timeout: 0,
  })
  return { bytes, remarks: remarksOf(opened, content === undefined) }
}

/** The background is only set if the page has none of its own. Markdown gets the width of a sheet of paper. */
function pageStyle({ background, zoom, fit, padding }: PictureOptions, isMarkdown: boolean): string {
  const colour = background === 'transparent' || !/^[\w#(),.%/ -]{1,80}$/.test(background) ? '' : `:where(html){background:${background}}`
  const paper = isMarkdown ? `body{width:820px;margin:0${fit === 'page' ? '' : ` ${padding}px`};padding:${padding}px 0}` : ''
  return `${colour}${paper}${zoom === undefined ? '' : `html{zoom:${zoom}}`}`
}

/**
 * The box of the visible elements, after making room for the padding on all sides. Elements that are too near to the left or upper edge are
 * moved, and the page gets larger. Nothing is laid out again.
 */
async function paddedBox(page: Page, { fit, selector, fullPage, padding }: PictureOptions): Promise<Box | undefined> {
  const box = await visibleBox(page)
  if (!box || fit !== 'content' || selector !== undefined || !fullPage) return box
  const [right, down] = [Math.max(0, Math.ceil(padding - box.x)), Math.max(0, Math.ceil(padding - box.y))]
  const moved = { ...box, x: box.x + right, y: box.y + down }
  await page.evaluate(moveBody, { right, down, width: moved.x + moved.width + padding, height: moved.y + moved.height + padding })
  return moved
}

/** Runs in the page. Moves the body, and adds an invisible element in the far corner, so that the page has this width and height. */
function moveBody({ right, down, width, height }: { right: number; down: number; width: number; height: number }): void {
  const { document } = globalThis as unknown as MovedPage
  if (document.body && (right > 0 || down > 0)) document.body.style.translate = `${right}px ${down}px`
  const corner = document.createElement('div')
  corner.style.cssText = `position:absolute;left:${Math.ceil(width) - 1}px;top:${Math.ceil(height) - 1}px;width:1px;height:1px;visibility:hidden`
  document.documentElement.append(corner)
}

interface MovedPage {
  readonly document: {
    readonly body: { readonly style: { translate: string } } | null
    readonly documentElement: { append(element: unknown): void }
    createElement(name: string): { readonly style: { cssText: string } }
  }
}

/** The part of the page that the picture shows. */
async function clipOf(page: Page, options: PictureOptions, content: Box | undefined): Promise<Box> {
  const { selector, fit, padding, fullPage, width, height } = options
  const whole = fullPage ? await page.evaluate(pageSize) : { width, height }
  const all = { x: 0, y: 0, width: Math.max(whole.width, 1), height: Math.max(whole.height, 1) }
  if (selector !== undefined) {
    const element = await page.$(selector).catch((error: Error) => {
      throw unrenderable('content', `content_selector is not a CSS selector: ${error.message.split('\n')[0]}`)
    })
    const box = await element?.boundingBox()
    if (!box) throw unrenderable('content', `There is no visible element ${selector}. Check content_selector.`)
    return inside(box, padding, all)
  }
  return fit === 'content' && content ? inside(content, padding, all) : all
}

/** A box with padding, cut to the page. The corners are whole pixels, so that the edges are sharp. */
function inside(box: Box, padding: number, all: Box): Box {
  const [x, y] = [Math.max(0, Math.floor(box.x - padding)), Math.max(0, Math.floor(box.y - padding))]
  const right = Math.min(all.width, Math.ceil(box.x + box.width + padding))
  const bottom = Math.min(all.height, Math.ceil(box.y + box.height + padding))
  return { x, y, width: Math.max(1, right - x), height: Math.max(1, bottom - y) }
}

function checkSize({ width, height }: Box, { scale }: PictureOptions): void {
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)]
  if (wide <= maxSide && high <= maxSide && wide * high <= maxPixels) return
  const message = `The picture would have ${wide} × ${high} pixels. Use a smaller device_scale_factor, fewer elements, or write_pdf.`
  throw unrenderable('too_large', message)
}

/** Runs in the page. */
function pageSize(): { width: number; height: number } {
  const { scrollWidth, scrollHeight } = (
    globalThis as unknown as { document: { documentElement: { scrollWidth: number; scrollHeight: number } } }
  ).document.documentElement
  return { width: scrollWidth, height: scrollHeight }
}
