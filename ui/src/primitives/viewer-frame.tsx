import { useEffect, useRef, useState } from 'react'

interface ViewerFrameProps {
  readonly kind: 'html' | 'svg' | 'mermaid'
  readonly text: string
  readonly label: string
  /** The height of a document. A picture also has this height until its own size is known. */
  readonly height: string
  /** Called when the content can not be shown. */
  readonly onFailed: (message: string) => void
}

interface ViewerMessage {
  readonly type: 'daybook.viewer'
  readonly id?: string
  readonly state: 'ready' | 'shown' | 'failed'
  readonly width?: number
  readonly height?: number
  readonly message?: string
}

// The server serves the viewer beside the files of the page. `own` is a variable, because Vite would treat `new URL('…', import.meta.url)`
// as a file that it has to build.
const own = import.meta.url
const address = new URL(import.meta.env.DEV ? '/page/viewer.html' : 'viewer.html', own).href

const isDark = () => getComputedStyle(document.documentElement).colorScheme.includes('dark')

const isViewerMessage = (data: unknown): data is ViewerMessage =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'daybook.viewer'

/**
 * Shows content that is not trusted. The frame has its own origin, so the content can not access the page. Scripts in the content do not
 * run. A picture gets its own height. A document has the height `height`.
 */
export function ViewerFrame({ kind, text, label, height, onFailed }: ViewerFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [ready, setReady] = useState(false)
  const [shownHeight, setShownHeight] = useState<number>()
  useEffect(() => {
    const onMessage = ({ source, data }: MessageEvent<unknown>) => {
      if (source === null || source !== frame.current?.contentWindow || !isViewerMessage(data)) return
      if (data.state === 'ready') setReady(true)
      if (data.state === 'shown') setShownHeight(heightIn(frame.current, data))
      if (data.state === 'failed') onFailed(data.message ?? 'The content can not be shown.')
    }
    window.addEventListener('message', onMessage)
    return () => window.removeEventListener('message', onMessage)
  }, [onFailed])
  useEffect(() => {
    // The target origin is `*`, because a sandboxed frame has no origin that a message could name.
    if (ready) frame.current?.contentWindow?.postMessage({ type: 'daybook.show', id: kind, kind, text, dark: isDark() }, '*')
  }, [ready, kind, text])
  return (
    <iframe
      ref={frame}
      src={address}
      sandbox="allow-scripts"
      title={label}
      className="block w-full rounded-md border border-line bg-page"
      style={{ height: shownHeight === undefined ? height : `${shownHeight}px`, maxHeight: '80dvh' }}
    />
  )
}

/** The height of a picture in the frame. A wide picture is made smaller, and the border takes two pixels. */
function heightIn(frame: HTMLIFrameElement, { width, height }: ViewerMessage): number | undefined {
  if (width === undefined || height === undefined || width === 0) return undefined
  return Math.max(40, Math.ceil(height * Math.min(1, frame.clientWidth / width)) + 2)
}
