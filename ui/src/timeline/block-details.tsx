import type { Block } from 'daybook/client'
import { GitFork, X } from 'lucide-react'
import { formatCount, formatSize, formatTime } from '../model/inspect/figures.ts'
import { linkPaths } from '../model/inspect/path-links.ts'
import type { BlockState, TimelineRow } from '../model/inspect/timeline-rows.ts'
import { Button, IconButton } from '../primitives/button.tsx'

interface BlockDetailsProps {
  readonly row: TimelineRow
  readonly state: BlockState
  /** The block as it was at the chosen time, with its fields about hiding. Undefined if it was not in the timeline. */
  readonly now: Block | undefined
  isKnownPath(path: string): boolean
  onPath(path: string): void
  onFork(): void
  onClose(): void
}

/** At most this many characters of a text are shown. */
const mostCharacters = 40_000

/** Everything about one block. */
export function BlockDetails({ row, state, now, isKnownPath, onPath, onFork, onClose }: BlockDetailsProps) {
  const { block, seq, tokens, size } = row
  const text = block.text ?? ''
  const facts = [
    ['Type', block.type],
    ['Author', block.author],
    ['Turn', block.turn_id],
    ['Entry', String(seq)],
    ['Time', formatTime(block.ts)],
    ['Size', formatSize(size)],
    ['Tokens', `about ${formatCount(tokens)}`],
    ['State', state === 'shown' ? 'in the prompt' : state],
  ]
  const replacement = now?.meta?.hidden === true ? now.meta.replacement_text : undefined
  return (
    <aside
      aria-label={`Block ${block.id}`}
      className="fade-in fixed inset-0 z-10 flex flex-col bg-page lg:static lg:w-[26rem] lg:shrink-0 lg:border-l lg:border-line xl:w-[32rem]"
    >
      <header className="flex items-center gap-1 border-b border-line py-1 pr-2 pl-4">
        <h2 className="flex-1 truncate font-mono text-sm">{block.id}</h2>
        <Button onClick={onFork}>
          <GitFork size={14} /> Fork from here
        </Button>
        <IconButton label="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto p-4" tabIndex={0} role="region" aria-label={`Content of ${block.id}`}>
        <dl className="grid grid-cols-[5rem_1fr] gap-x-3 gap-y-1 text-sm">
          {facts.map(([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-soft">{name}</dt>
              <dd className="min-w-0 break-words">{value}</dd>
            </div>
          ))}
          {block.path !== undefined && (
            <div className="contents">
              <dt className="text-soft">Path</dt>
              <dd className="min-w-0">
                <PathButton path={block.path} onPath={onPath} />
              </dd>
            </div>
          )}
        </dl>
        {typeof replacement === 'string' && (
          <p className="mt-3 rounded-md bg-raised p-3 text-sm">
            <span className="text-soft">In its place the model reads: </span>
            {replacement}
          </p>
        )}
        <pre className="mt-4 font-mono text-xs leading-5 break-words whitespace-pre-wrap">
          {linkPaths(text.slice(0, mostCharacters), isKnownPath).map(
            ({ text: piece, path }, index) =>
              // biome-ignore-start lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
              path === undefined ? <span key={index}>{piece}</span> : <PathButton key={index} path={path} onPath={onPath} />,
            // biome-ignore-end lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
          )}
        </pre>
        {text.length > mostCharacters && <p className="mt-2 text-sm text-soft">The first {formatSize(mostCharacters)} are shown.</p>}
      </div>
    </aside>
  )
}

const PathButton = ({ path, onPath }: { readonly path: string; onPath(path: string): void }) => (
  <button
    type="button"
    onClick={() => onPath(path)}
    className="rounded text-left font-mono text-xs break-all text-accent underline underline-offset-2"
  >
    {path}
  </button>
)
