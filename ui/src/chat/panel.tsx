import type { ConversationView } from 'daybook/client'
import { Download, X } from 'lucide-react'
import { type ReactNode, Suspense } from 'react'
import { saveFile } from '../data/files.ts'
import { MarkdownText } from '../markdown/markdown-text.tsx'
import { documentKey, turnItems } from '../model/turn-items.ts'
import { IconButton } from '../primitives/button.tsx'
import type { PanelContent } from './chat-actions.ts'

/** Shows the content of a file. The app gives it, because another feature does it. */
export type RenderFile = (file: { readonly rn: string; readonly filename: string; readonly mime: string | undefined }) => ReactNode

interface PanelProps {
  readonly content: PanelContent
  readonly view: ConversationView
  renderFile: RenderFile
  onClose(): void
}

/** The panel beside the conversation: a document that is being written, or a file. On a small screen it covers the page. */
export function Panel({ content, view, renderFile, onClose }: PanelProps) {
  const document = content.kind === 'canvas' ? documentOf(view, content) : undefined
  const title = content.kind === 'file' ? content.filename : (document?.name.split('/').at(-1) ?? 'Document')
  return (
    <aside
      aria-label={title}
      className="fade-in fixed inset-0 z-10 flex flex-col bg-page lg:static lg:w-[min(46vw,48rem)] lg:shrink-0 lg:border-l lg:border-line"
    >
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
            text={document?.text ?? 'The document is not shown any more. It is in the files of the turn.'}
            live={document?.live ?? false}
          />
        )}
      </div>
    </aside>
  )
}

/** The document that a panel shows: while it is being written the text that arrives, and then the text of the call that wrote it. */
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
