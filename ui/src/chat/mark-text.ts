import { showRemovedChunks } from '../markdown/removed-chunks.ts'

/**
 * Marks all occurrences of a text below an element, and scrolls to one of them. The marks are ranges and not elements, so the document is
 * not changed.
 */
export function markText(root: Element, query: string, current: number): void {
  showRemovedChunks(root)
  const ranges = rangesOf(root, query.trim().toLowerCase())
  const shown = ranges[Math.min(current, ranges.length - 1)]
  CSS.highlights.set('found', new Highlight(...ranges))
  if (!shown) return
  CSS.highlights.set('found-current', new Highlight(shown))
  shown.startContainer.parentElement?.scrollIntoView({ block: 'center' })
}

// These rules are not in the style sheet of the page, because the tool that builds it does not know the selector `::highlight`.
const colours = new CSSStyleSheet()
colours.replaceSync(`
  ::highlight(found) { background: color-mix(in srgb, var(--warn) 30%, transparent); }
  ::highlight(found-current) { background: var(--accent); color: var(--on-accent); }
`)
document.adoptedStyleSheets.push(colours)

export function clearMarks(): void {
  CSS.highlights.delete('found')
  CSS.highlights.delete('found-current')
}

function rangesOf(root: Element, wanted: string): readonly Range[] {
  if (wanted === '') return []
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = (node.textContent ?? '').toLowerCase()
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range()
      range.setStart(node, at)
      range.setEnd(node, Math.min(at + wanted.length, node.textContent?.length ?? 0))
      ranges.push(range)
    }
  }
  return ranges
}
