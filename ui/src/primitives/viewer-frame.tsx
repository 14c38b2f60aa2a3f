import { useEffect, useRef, useState } from 'react'

interface ViewerFrameProps {
  /** The address of the viewer, which the server serves. */
  readonly address: string
  readonly kind: 'html' | 'svg' | 'mermaid'
  readonly text: string
  readonly label: string
  readonly dark: boolean
  /** Called when the content can not be shown. */
  readonly onFailed: (message: string) => void
}

interface ViewerMessage {
  readonly type: 'daybook.viewer'
  readonly id?: string
  readonly state: 'ready' | 'shown' | 'failed'
  readonly height?: number
  readonly message?: string
}

const isViewerMessage = (data: unknown): data is ViewerMessage =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'daybook.viewer'

/**
 * Shows content that is not trusted. The frame has an origin of its own, so the content has no access to the page, and it runs no script.
 * A picture gets its own height. A document is as high as the place that it is given.
 */
export function ViewerFrame({ address, kind, text, label, dark, onFailed }: ViewerFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [ready, setReady] = useState(false)
  const [height, setHeight] = useState<number>()
  useEffect(() => {
    const onMessage = ({ source, data }: MessageEvent<unknown>) => {
      if (source === null || source !== frame.current?.contentWindow || !isViewerMessage(data)) return
      if (data.state === 'ready') setReady(true)
      if (data.state === 'shown' && data.height !== undefined) setHeight(data.height)
      if (data.state === 'failed') onFailed(data.message ?? 'The content can not be shown.')
    }
    window.addEventListener('message', onMessage)
    return () => window.removeEventListener('message', onMessage)
  }, [onFailed])
  useEffect(() => {
    if (ready) frame.current?.contentWindow?.postMessage({ type: 'daybook.show', id: kind, kind, text, dark }, '*') // its origin has no name
  }, [ready, kind, text, dark])
  return (
    <iframe
      ref={frame}
      src={address}
      sandbox="allow-scripts"
      title={label}
      className="block w-full rounded-md border border-line bg-page"
      style={{ height: height === undefined ? '70dvh' : `${Math.max(40, height + 2)}px`, maxHeight: '80dvh' }}
    />
  )
}
