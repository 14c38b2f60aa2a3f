import { type RefObject, useEffect, useState } from 'react'
import { flushSync } from 'react-dom'

/** Chunks this far above and below the visible part keep their elements, so that scrolling does not show gaps. */
const margin = '1600px 0px'

const showEvent = 'daybook-show'

/**
 * The height of a chunk whose elements are removed because it is far from the visible part. Undefined while it has its elements. A chunk
 * with selected text keeps them.
 */
export function useRemovedHeight(box: RefObject<HTMLElement | null>, enabled: boolean): number | undefined {
  const [height, setHeight] = useState<number>()
  const isRemoved = height !== undefined
  useEffect(() => {
    const element = box.current
    if (!enabled || !element) return
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1)
        if (last?.isIntersecting) setHeight(undefined)
        else if (last && !hasSelection(element)) setHeight(last.boundingClientRect.height)
      },
      { root: scrollerOf(element), rootMargin: margin },
    )
    observer.observe(element)
    const { offsetWidth } = element
    // with another width, the lines break at other places, so the stored height is wrong
    const resized = new ResizeObserver(() => element.offsetWidth !== offsetWidth && setHeight(undefined))
    if (isRemoved) resized.observe(element)
    const stopListening = onShowRequest(element, () => setHeight(undefined))
    return () => {
      observer.disconnect()
      resized.disconnect()
      stopListening()
    }
  }, [box, enabled, isRemoved])
  return enabled ? height : undefined
}

/**
 * Draws all chunks below an element, for code that reads the text from the document. This includes chunks that were not drawn yet, and
 * chunks whose elements were removed.
 */
export function showRemovedChunks(root: Element): void {
  for (const text of root.querySelectorAll('[data-drawing]')) text.dispatchEvent(new Event(showEvent))
  for (const chunk of root.querySelectorAll('[data-removed]')) chunk.dispatchEvent(new Event(showEvent))
}

/**
 * Calls `change` when `showRemovedChunks` is called for an element around this element. `change` must set the state so that the element is
 * drawn as a whole. Returns a function that removes the listener.
 */
export function onShowRequest(element: HTMLElement, change: () => void): () => void {
  const show = (event: Event) => {
    if (event.target === element) flushSync(change)
  }
  element.addEventListener(showEvent, show)
  return () => element.removeEventListener(showEvent, show)
}

const hasSelection = (element: Element) =>
  document.getSelection()?.containsNode(element, true) === true && !document.getSelection()?.isCollapsed

function scrollerOf(element: Element): Element | null {
  for (let above = element.parentElement; above; above = above.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(above).overflowY)) return above
  }
  return null
}
