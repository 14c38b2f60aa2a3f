import type { ConversationView } from 'daybook/client'
import { Download, X } from 'lucide-react'
import { type CSSProperties, type ReactNode, type RefObject, Suspense, useEffect, useRef, useState } from 'react'
import { saveFile } from '../data/files.ts'
import { readPanelWidth, writePanelWidth } from '../data/panel-width.ts'
import { MarkdownText } from '../markdown/markdown-text.tsx'
import { documentKey, turnItems } from '../model/turn-items.ts'
import { IconButton } from '../primitives/button.tsx'
import { ResizeHandle } from '../primitives/resize-handle.tsx'
import type { PanelContent } from './chat-actions.ts'

/** Renders the content of a file. The app passes this function in, because the folder `chat` does not import the folder `files`. */
export type RenderFile = (file: { readonly rn: string; readonly filename: string; readonly mime: string | undefined }) => ReactNode

interface PanelProps {
  readonly content: PanelContent
  readonly view: ConversationView
  renderFile: RenderFile
  onClose(): void
}

/** The smallest width of the panel, and also of the conversation beside it, in pixels. */
const narrowest = 320

/** The panel beside the conversation: a document that is being written, or a file. On a small screen it covers the page. Esc closes it. */
export function Panel({ content, view, renderFile, onClose }: PanelProps) {
  const document = content.kind === 'canvas' ? documentOf(view, content) : undefined
  const title = content.kind === 'file' ? content.filename : (document?.name.split('/').at(-1) ?? 'Document')
  const root = useRef<HTMLElement>(null)
  const width = usePanelWidth(root)
  useEffect(() => {
    const panel = root.current
    if (panel && getComputedStyle(panel).position === 'fixed') panel.querySelector('button')?.focus() // the panel covers the page, so the page must not keep the focus
  }, [])
  return (
    <aside
      ref={root}
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return
        event.stopPropagation() // Esc in the panel must not stop the turn
        onClose()
      }}
      className="fade-in fixed inset-0 z-10 flex flex-col bg-page lg:relative lg:w-(--panel-width) lg:max-w-[calc(100%-20rem)] lg:shrink-0 lg:border-l lg:border-line"
      style={{ '--panel-width': width.chosen === undefined ? 'min(46vw, 48rem)' : `${width.chosen}px` } as CSSProperties}
    >
      <ResizeHandle
        label="Width of the panel"
        width={width.shown}
        min={narrowest}
        max={width.max}
        onResize={width.set}
        onReset={width.reset}
      />
      <header className="flex items-center gap-1 border-b border-line py-1 pr-2 pl-4">
        <h2 className="flex-1 truncate text-sm font-medium">{title}</h2>
        {content.kind === 'file' && (
          <IconButton label="Download" onClick={() => void saveFile(content.rn, content.filename)}>
            <Download size={16} />
          </IconButton>
        )}
        <IconButton label="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-auto p-4" tabIndex={0} role="region" aria-label={`Content of ${title}`}>
        {content.kind === 'file' ? (
          <Suspense fallback={<p className="text-soft">Loading …</p>}>{renderFile(content)}</Suspense>
        ) : (
          <MarkdownText
            text={document?.text ?? 'The document can no longer be shown here. It is in the files of the turn.'}
            live={document?.live ?? false}
          />
        )}
      </div>
    </aside>
  )
}

/**
 * The width of the panel. `max` is measured, because the window may be too narrow for the width that the person chose. `shown` is measured
 * only while the panel has its usual width: a measurement arrives with the next frame, too late for a second key in the same frame.
 */
function usePanelWidth(root: RefObject<HTMLElement | null>) {
  const [chosen, setChosen] = useState(readPanelWidth)
  const [measured, setMeasured] = useState({ width: narrowest, max: narrowest })
  useEffect(() => {
    const panel = root.current
    const row = panel?.parentElement
    if (!panel || !row) return
    const observer = new ResizeObserver(() =>
      setMeasured({ width: Math.round(panel.offsetWidth), max: Math.max(row.offsetWidth - narrowest, narrowest) }),
    )
    observer.observe(panel)
    observer.observe(row)
    return () => observer.disconnect()
  }, [root])
  const set = (width: number | undefined) => {
    setChosen(width)
    writePanelWidth(width)
  }
  const shown = chosen === undefined ? measured.width : Math.min(chosen, measured.max)
  return { shown, max: measured.max, chosen, set, reset: () => set(undefined) }
}

/**
 * The document that a panel shows. While the model writes it, this is the text that has arrived so far. When it is complete, this is the
 * text in the call.
 */
function documentOf(view: ConversationView, { turnId, key }: Extract<PanelContent, { kind: 'canvas' }>) {
  const turn = view.turns.find(({ id }) => id === turnId)
  const items = turn ? turnItems(turn, view.live?.turnId === turnId ? view.live : undefined) : []
  const live = items.find((candidate) => candidate.key === key)
  if (live?.kind === 'canvas') return live
  const written = items.findLast((item) => item.kind === 'tool' && documentKey(item.step) === key)
  if (written?.kind !== 'tool') return undefined
  const { path, content } = written.step.params
  return typeof content === 'string' ? { name: String(path), text: content, live: false } : undefined
}
