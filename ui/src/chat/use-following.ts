import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'

/** Whether the thread follows the text that arrives at its end. */
export interface Following {
  readonly active: boolean
  /** How far the reader is from the end, in pixels. */
  readonly distance: number
  isAtEnd(): boolean
  /** Follows again, after the given function has scrolled to the end. */
  resume(scroll: () => void): void
}

const atEnd = 2

/**
 * Following stops when the reader scrolls up or selects text, and `onPause` is called for a selection. It resumes only when the reader scrolls to the end, or by `resume`. Text that
 * arrives never changes it.
 */
export function useFollowing(scroller: RefObject<HTMLElement | null>, onPause: (top: number) => void): Following {
  const [active, setActive] = useState(true)
  const [distance, setDistance] = useState(0)
  const lastTop = useRef(0)
  const pause = useRef(onPause)
  pause.current = onPause
  const measure = useCallback(() => {
    const element = scroller.current
    return element ? element.scrollHeight - element.clientHeight - element.scrollTop : 0
  }, [scroller])

  useEffect(() => {
    const element = scroller.current
    if (!element) return
    const onScroll = () => {
      const left = measure()
      const wentUp = element.scrollTop < lastTop.current - 1
      lastTop.current = element.scrollTop
      setDistance(left)
      if (left <= atEnd) setActive(!hasSelection(element))
      else if (wentUp) setActive(false)
    }
    const onSelection = () => {
      if (hasSelection(element)) {
        setActive(false)
        pause.current(element.scrollTop)
      } else if (measure() <= atEnd) setActive(true)
    }
    const onResize = new ResizeObserver(() => setDistance(measure()))
    if (element.firstElementChild) onResize.observe(element.firstElementChild)
    element.addEventListener('scroll', onScroll, { passive: true })
    document.addEventListener('selectionchange', onSelection)
    return () => {
      onResize.disconnect()
      element.removeEventListener('scroll', onScroll)
      document.removeEventListener('selectionchange', onSelection)
    }
  }, [scroller, measure])

  return {
    active,
    distance,
    isAtEnd: () => measure() <= atEnd,
    resume(scroll) {
      document.getSelection()?.removeAllRanges()
      setActive(true)
      scroll()
    },
  }
}

function hasSelection(element: HTMLElement): boolean {
  const selection = document.getSelection()
  return selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode)
}
