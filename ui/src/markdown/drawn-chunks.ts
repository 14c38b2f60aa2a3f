import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { onShowRequest } from './removed-chunks.ts'

/** The greatest time that a frame with new chunks should take, with layout and paint, in milliseconds. */
const frameMs = 14
const mostPerFrame = 8

/**
 * How many chunks the next frame may draw. The number depends on how long the previous frames took, so that a slow machine draws fewer
 * chunks per frame.
 */
let perFrame = 1

/**
 * How many of the chunks of a text are drawn. A text that arrives faster than it can be drawn is drawn in steps, a few chunks for each
 * animation frame. A hidden page has no frames, so it draws nothing. If `inSteps` is false at the first call, all chunks are drawn at once.
 */
export function useDrawnCount(box: RefObject<HTMLElement | null>, count: number, inSteps: boolean): number {
  const [limit, setLimit] = useState(inSteps ? perFrame : Number.POSITIVE_INFINITY)
  // when all chunks are drawn, the limit is raised once more, so that the next chunk is drawn as soon as it arrives
  const isLimited = limit <= count
  useEffect(() => {
    if (!isLimited) return
    const frame = requestAnimationFrame(() => {
      measureFrame()
      flushSync(() => setLimit(limit + perFrame)) // `flushSync` draws the chunks in this frame
    })
    return () => cancelAnimationFrame(frame)
  }, [isLimited, limit])
  const isDrawing = limit < count
  const latest = useRef(count)
  latest.current = count
  useLayoutEffect(() => {
    const element = box.current
    if (!isDrawing || !element) return
    return onShowRequest(element, () => setLimit((known) => Math.max(known, latest.current)))
  }, [box, isDrawing])
  return Math.min(count, limit)
}

let isMeasuring = false
const afterFrame = new MessageChannel()
let startedAt = 0
afterFrame.port1.onmessage = () => {
  isMeasuring = false
  const ms = performance.now() - startedAt
  if (ms > frameMs * 1.5) perFrame = Math.max(1, Math.floor(perFrame / 2))
  else if (ms < frameMs / 2) perFrame = Math.min(mostPerFrame, perFrame + 1)
}

/** Measures how long the current frame takes. It sends a message that arrives after the browser has drawn the frame. */
function measureFrame(): void {
  if (isMeasuring) return
  isMeasuring = true
  startedAt = performance.now()
  afterFrame.port2.postMessage(undefined)
}
