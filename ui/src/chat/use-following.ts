import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'

/** Following means that the thread scrolls to its end when text arrives there. `active` is true while the thread follows. */
export interface Following {
  readonly active: boolean
  /** How far the reader is from the end, in pixels. */
  readonly distance: number
  isAtEnd(): boolean
  /** Calls `scroll`, which scrolls to the end, and starts following again. */
  resume(scroll: () => void): void
}

const atEnd = 2

interface FollowingOptions {
  /** Whether the thread opens at its end. */
  readonly atFirst: boolean
  /** Called when following has stopped because the reader selected text. `top` is the scroll position. */
  onPause(top: number): void
  /** Called when the thread has grown while it follows, and its end is no longer on the screen. */
  onBehind(): void
}

/**
 * Following stops when the reader scrolls up or selects text. It starts again when the reader scrolls to the end, when a selection at the
 * end is removed, or with `resume`. New text does not start or stop following.
 */
export function useFollowing(scroller: RefObject<HTMLElement | null>, options: FollowingOptions): Following {
  const [active, setActive] = useState(options.atFirst)
  const [distance, setDistance] = useState(0)
  const lastTop = useRef(0)
  const latest = useRef({ ...options, active })
  latest.current = { ...options, active }
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
        latest.current.onPause(element.scrollTop)
      } else if (measure() <= atEnd) setActive(true)
    }
    const onResize = new ResizeObserver(() => {
      if (latest.current.active && measure() > atEnd) latest.current.onBehind()
      setDistance(measure())
    })
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
