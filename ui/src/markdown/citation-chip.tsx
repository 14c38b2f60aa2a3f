import { Popover } from '@base-ui/react/popover'
import type { SourceRow } from 'daybook/client'
import { ChevronLeft, ChevronRight, ExternalLink } from 'lucide-react'
import { type KeyboardEvent, useContext, useState } from 'react'
import { citedSources, isSafeAddress, siteOf } from '../model/citations.ts'
import { IconButton } from '../primitives/button.tsx'
import { SourcesContext } from './sources-context.ts'

/**
 * The number of a source in a text, or the name of a file. Its card opens when the pointer rests on it, when it gets the focus, and with a
 * tap.
 */
export function CitationChip({ sids }: { readonly sids: readonly number[] }) {
  const sources = citedSources(sids, useContext(SourcesContext))
  const [open, setOpen] = useState(false)
  const [at, setAt] = useState(0)
  const shown = sources[at] ?? sources[0]
  if (!shown) return null
  const walk = (by: number) => setAt((index) => (index + by + sources.length) % sources.length)
  function onKeyDown(event: KeyboardEvent) {
    if (!open || sources.length < 2 || (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft')) return
    event.preventDefault()
    walk(event.key === 'ArrowRight' ? 1 : -1)
  }
  const file = sources.length === 1 && shown.url === undefined ? shown.title : undefined // the chip of a single file shows its name, which says more than a number
  const numbers = sources.map(({ sid }) => sid).join(', ')
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        openOnHover
        delay={200}
        className="ml-0.5 inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-full bg-tint px-1.5 align-[0.1em] text-[11px] leading-none font-medium text-accent no-underline tabular-nums hover:bg-accent hover:text-on-accent"
        aria-label={`Source ${numbers}: ${titleOf(shown)}`}
        onFocus={(event) => event.currentTarget.matches(':focus-visible') && setOpen(true)}
        onBlur={(event) => event.relatedTarget?.closest('[data-citation-card]') ?? setOpen(false)}
        onKeyDown={onKeyDown}
      >
        {file === undefined ? numbers : <span className="max-w-56 truncate">{file}</span>}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={6} collisionPadding={8}>
          <Popover.Popup
            initialFocus={false}
            finalFocus={false}
            data-citation-card
            onKeyDown={onKeyDown}
            aria-label={`Source ${shown.sid}`}
            className="z-20 w-80 max-w-[calc(100vw-1rem)] rounded-lg border border-line bg-page p-3 text-sm shadow-lg outline-none"
          >
            <SourceCard source={shown} />
            {sources.length > 1 && (
              <p className="mt-2 flex items-center justify-between border-t border-line pt-1 text-xs text-faint">
                <IconButton label="Previous source" onClick={() => walk(-1)}>
                  <ChevronLeft size={15} />
                </IconButton>
                {at + 1} of {sources.length}
                <IconButton label="Next source" onClick={() => walk(1)}>
                  <ChevronRight size={15} />
                </IconButton>
              </p>
            )}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

const titleOf = ({ title, url, sid }: SourceRow) => title ?? url ?? `Source ${sid}`

function SourceCard({ source }: { readonly source: SourceRow }) {
  const { url, text, sid } = source
  const canOpen = url !== undefined && isSafeAddress(url)
  return (
    <>
      <p className="text-xs text-faint">
        {sid} · {siteOf(source) || 'file'}
      </p>
      <p className="line-clamp-2 font-medium wrap-anywhere">{titleOf(source)}</p>
      {text !== undefined && text !== '' && <p className="mt-1 line-clamp-4 text-soft wrap-anywhere">{text}</p>}
      {canOpen && (
        <a
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          className="mt-2 inline-flex items-center gap-1 font-medium text-accent hover:underline"
        >
          Open <ExternalLink size={13} aria-hidden />
        </a>
      )}
    </>
  )
}
