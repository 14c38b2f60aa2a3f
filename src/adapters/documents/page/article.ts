import type { PageElement } from './tree.ts'

// Finds the elements that contain the text of a page. The scores follow the idea of Mozilla's Readability: a paragraph with many words and
// commas gives points to the elements around it, and links take points away. Each step visits every element once.

/** The elements with the text of the page, in their order. The result is the whole body if no part of it has a clearly higher score. */
export function findArticle(body: PageElement): readonly PageElement[] {
  const marked = markedArticle(body)
  if (marked) return [marked]
  const scores = new Map<PageElement, number>()
  scoreParagraphs(body, scores)
  let top: PageElement | undefined
  let best = 0
  for (const [element, points] of scores) {
    const score = points * (1 - linkDensity(element))
    scores.set(element, score)
    if (score > best) [top, best] = [element, score]
  }
  if (!top || top === body) return [body]
  const root = commonAncestor(top, best, scores)
  const found = withSiblings(root, scores.get(root) ?? best, scores)
  const length = found.reduce((sum, each) => sum + each.textLength, 0)
  return length < minLength && body.textLength > 2 * length ? [body] : found
}

/** A text with fewer characters is probably only a part of the article. */
const minLength = 250

const linkDensity = ({ linkLength, textLength }: PageElement) => (textLength === 0 ? 0 : linkLength / textLength)

/**
 * The element that the page itself marks as its text with a tag such as `article`. It is used only if it is the only element with this tag
 * and contains more than a third of the text.
 */
function markedArticle(body: PageElement): PageElement | undefined {
  for (const tag of ['article', 'main']) {
    const found = elementsWith(body, tag, [])
    const [only] = found
    if (only && found.length === 1 && only.textLength >= minLength && only.textLength - only.linkLength > body.textLength / 3) return only
  }
  return undefined
}

function elementsWith(parent: PageElement, tag: string, found: PageElement[]): readonly PageElement[] {
  for (const child of parent.children) {
    if (typeof child === 'string' || child.junk !== 'no') continue
    if (child.tag === tag) found.push(child)
    else elementsWith(child, tag, found)
  }
  return found
}

const paragraphTags: ReadonlySet<string> = new Set(['p', 'pre', 'td', 'blockquote', 'dd', 'li'])
/** The points that an element has before its paragraphs are counted. */
const startPoints: Readonly<Record<string, number>> = {
  div: 5,
  article: 10,
  main: 10,
  section: 5,
  pre: 3,
  td: 3,
  blockquote: 3,
  ul: -3,
  ol: -3,
  form: -3,
}

function scoreParagraphs(parent: PageElement, scores: Map<PageElement, number>): void {
  for (const child of parent.children) {
    if (typeof child === 'string' || child.junk !== 'no') continue
    if (isParagraph(child) && child.textLength >= 25) {
      const points = 1 + child.commas + Math.min(3, Math.floor(child.textLength / 100))
      giveToAncestors(child, points, scores)
    }
    scoreParagraphs(child, scores)
  }
}

const isParagraph = (element: PageElement) =>
  paragraphTags.has(element.tag) ||
  (element.tag === 'div' && !element.children.some((child) => typeof child !== 'string' && child.hasBlock))

function giveToAncestors(paragraph: PageElement, points: number, scores: Map<PageElement, number>): void {
  let level = 0
  for (let each = paragraph.parent; each && level < 5; each = each.parent, level++) {
    const before = scores.get(each) ?? (startPoints[each.tag] ?? 0) + each.weight * 25
    scores.set(each, before + points / (level === 0 ? 1 : level === 1 ? 2 : level * 3))
  }
}

/** If several elements have almost the best score, the text is in their common ancestor. */
function commonAncestor(top: PageElement, best: number, scores: ReadonlyMap<PageElement, number>): PageElement {
  const rivals = new Map<PageElement, number>()
  for (const [element, score] of scores) {
    if (element === top || score < best * 0.75) continue
    for (let each = element.parent; each; each = each.parent) rivals.set(each, (rivals.get(each) ?? 0) + 1)
  }
  for (let each = top.parent; each?.parent; each = each.parent) if ((rivals.get(each) ?? 0) >= 3) return each
  return top
}

/** The element and those of its siblings that probably belong to the same text. */
function withSiblings(root: PageElement, score: number, scores: ReadonlyMap<PageElement, number>): readonly PageElement[] {
  const enough = Math.max(10, score * 0.2)
  return (root.parent?.children ?? [root]).filter((child): child is PageElement => {
    if (typeof child === 'string') return false
    if (child === root) return true
    if (child.junk !== 'no') return false
    if ((scores.get(child) ?? 0) >= enough || /^h[1-3]$/.test(child.tag)) return true
    return child.tag === 'p' && child.textLength > 80 && linkDensity(child) < 0.25
  })
}
