import type { Page } from 'playwright-core'
import type { OpenPage } from './open-page.ts'

/** What the author should know about the page: missing files, refused requests, diagrams with errors, an empty page. */
export function remarksOf({ requests, diagramErrors }: OpenPage, blank: boolean): readonly string[] {
  const list = (set: ReadonlySet<string>) => [...set].join(', ')
  return [
    ...(blank ? ['The document is blank: it shows no text and no picture.'] : []),
    ...(requests.missing.size > 0 ? [`These files do not exist: ${list(requests.missing)}.`] : []),
    ...(requests.refused.size > 0
      ? [`The document is made without network, so these addresses were not loaded: ${list(requests.refused)}.`]
      : []),
    ...diagramErrors.map(({ message }) => `A diagram could not be drawn and is shown as text: ${message}`),
  ]
}

/** A rectangle in pixels of the page. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Whether the page shows nothing. */
export const isBlank = async (page: Page): Promise<boolean> => (await visibleBox(page)) === undefined

/** The smallest rectangle around everything that is visible: texts, pictures, and elements with a background or border. */
export const visibleBox = (page: Page): Promise<Box | undefined> => page.evaluate(findVisibleBox)

interface PageElement {
  readonly tagName: string
  readonly childNodes: Iterable<{ readonly nodeType: number; readonly textContent: string | null }>
  getBoundingClientRect(): Box
}
interface Style {
  readonly [property: string]: string
}
interface PageScope {
  readonly scrollX: number
  readonly scrollY: number
  readonly document: {
    readonly body: PageElement | null
    querySelectorAll(selector: string): Iterable<PageElement>
    createRange(): { selectNodeContents(node: unknown): void; getClientRects(): Iterable<Box> }
  }
  getComputedStyle(element: PageElement): Style
}

/** Runs in the page. Looks at a limited number of elements, so that a huge page does not take long. */
function findVisibleBox(): Box | undefined {
  const scope = globalThis as unknown as PageScope
  const { document } = scope
  let [left, top, right, bottom] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 0]
  const include = ({ x, y, width, height }: Box) => {
    if (width < 1 || height < 1) return
    left = Math.min(left, x + scope.scrollX)
    top = Math.min(top, y + scope.scrollY)
    right = Math.max(right, x + scope.scrollX + width)
    bottom = Math.max(bottom, y + scope.scrollY + height)
  }
  const pictures = ['IMG', 'SVG', 'CANVAS', 'VIDEO', 'OBJECT', 'EMBED', 'IFRAME', 'INPUT', 'TEXTAREA', 'SELECT', 'HR', 'METER', 'PROGRESS']
  let count = 0
  for (const element of document.querySelectorAll('body *')) {
    if (++count > 20_000) break
    const style = scope.getComputedStyle(element)
    if (style.visibility === 'hidden' || style.display === 'none' || style.opacity === '0') continue
    const painted =
      pictures.includes(element.tagName.toUpperCase()) ||
      !['rgba(0, 0, 0, 0)', 'transparent'].includes(style.backgroundColor ?? '') ||
      style.backgroundImage !== 'none' ||
      ['Top', 'Right', 'Bottom', 'Left'].some((side) => style[`border${side}Style`] !== 'none' && style[`border${side}Width`] !== '0px')
    if (painted) include(element.getBoundingClientRect())
    for (const node of element.childNodes) {
      if (node.nodeType !== 3 || (node.textContent ?? '').trim() === '') continue
      const range = document.createRange()
      range.selectNodeContents(node)
      for (const box of range.getClientRects()) include(box)
    }
  }
  for (const node of document.body?.childNodes ?? []) {
    if (node.nodeType !== 3 || (node.textContent ?? '').trim() === '') continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const box of range.getClientRects()) include(box)
  }
  return right > left && bottom > top ? { x: left, y: top, width: right - left, height: bottom - top } : undefined
}
