import type { KeyboardEvent, PointerEvent } from 'react'

interface ResizeHandleProps {
  readonly label: string
  /** The width of the panel at the right of the handle, in pixels. */
  readonly width: number
  readonly min: number
  readonly max: number
  onResize(width: number): void
  /** Gives the panel its usual width. */
  onReset(): void
}

const keyStep = 32

/** The left edge of a panel. It is dragged, or moved with the arrow keys. A double click gives the panel its usual width. */
export function ResizeHandle({ label, width, min, max, onResize, onReset }: ResizeHandleProps) {
  const resize = (wanted: number) => onResize(Math.round(Math.min(Math.max(wanted, min), max)))
  function onPointerDown(event: PointerEvent<HTMLDivElement>) {
    if (event.button !== 0) return
    event.preventDefault() // dragging must not select text
    const handle = event.currentTarget
    const from = event.clientX
    handle.focus()
    handle.setPointerCapture(event.pointerId)
    const onMove = (moved: globalThis.PointerEvent) => resize(width + from - moved.clientX)
    const onEnd = () => {
      handle.removeEventListener('pointermove', onMove)
      handle.removeEventListener('lostpointercapture', onEnd)
    }
    handle.addEventListener('pointermove', onMove)
    handle.addEventListener('lostpointercapture', onEnd)
  }
  function onKeyDown(event: KeyboardEvent) {
    const widths: Readonly<Record<string, number>> = { ArrowLeft: width + keyStep, ArrowRight: width - keyStep, Home: max, End: min }
    const wanted = Object.hasOwn(widths, event.key) ? widths[event.key] : undefined
    if (wanted === undefined) return
    event.preventDefault()
    resize(wanted)
  }
  return (
    <div
      role="separator"
      aria-label={label}
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
      onDoubleClick={onReset}
      className="group absolute inset-y-0 -left-1.5 z-10 hidden w-3 cursor-col-resize touch-none justify-center outline-none lg:flex"
    >
      <span className="w-0.5 group-hover:bg-accent group-focus-visible:bg-accent group-active:bg-accent" aria-hidden />
    </div>
  )
}
