import { CornerDownLeft } from 'lucide-react'
import { useEffect, useId, useState } from 'react'
import { client } from '../data/session.ts'
import { Dialog } from '../primitives/dialog.tsx'
import { Kbd } from '../primitives/kbd.tsx'

/** A command of the palette. */
export interface PaletteEntry {
  readonly id: string
  readonly label: string
  readonly keys?: string
  run(): void
}

interface PaletteProps {
  /** The commands that the palette offers besides conversations. */
  readonly commands: readonly PaletteEntry[]
  openConversation(id: string): void
  onClose(): void
}

/** Finds conversations and commands by a few letters. */
export function Palette({ commands, openConversation, onClose }: PaletteProps) {
  const [query, setQuery] = useState('')
  const [found, setFound] = useState<readonly PaletteEntry[]>([])
  const [at, setAt] = useState(0)
  const listId = useId()
  useEffect(() => {
    let left = false
    client.conversations.list({ limit: 8, ...(query.trim() !== '' && { search: query.trim() }) }).then(
      ({ conversations }) =>
        !left && setFound(conversations.map(({ id, title }) => ({ id, label: title ?? 'Untitled', run: () => openConversation(id) }))),
      () => !left && setFound([]), // not reported here, because the open conversation shows that the server can not be reached
    )
    return () => {
      left = true
    }
  }, [query, openConversation])
  const words = query.trim().toLowerCase()
  const entries = [...commands.filter(({ label }) => label.toLowerCase().includes(words)), ...found]
  const chosen = Math.min(at, Math.max(entries.length - 1, 0))
  function run(entry: PaletteEntry | undefined) {
    if (!entry) return
    onClose()
    entry.run()
  }
  return (
    <Dialog label="Go to" onClose={onClose} className="mt-[12dvh] overflow-hidden">
      <input
        ref={(element) => element?.focus()}
        value={query}
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? `${listId}-${chosen}` : undefined}
        aria-label="Go to a conversation or a command"
        placeholder="Go to a conversation or a command"
        className="w-full border-b border-line bg-transparent px-4 py-3 text-base outline-none placeholder:text-faint"
        onChange={(event) => {
          setQuery(event.target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setAt((chosen + 1) % Math.max(entries.length, 1))
          else if (event.key === 'ArrowUp') setAt((chosen - 1 + entries.length) % Math.max(entries.length, 1))
          else if (event.key === 'Enter' && !event.nativeEvent.isComposing) run(entries[chosen])
          else return
          event.preventDefault()
        }}
      />
      <div id={listId} role="listbox" aria-label="Results" className="max-h-[50dvh] overflow-y-auto p-1">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys work in the field above
          <div
            key={entry.id}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            onClick={() => run(entry)}
            onPointerMove={() => setAt(index)}
            className="flex cursor-default items-center gap-2 rounded-md px-3 py-1.5 text-sm aria-selected:bg-hover"
          >
            <span className="flex-1 truncate">{entry.label}</span>
            {entry.keys !== undefined ? (
              <Kbd keys={entry.keys} />
            ) : (
              index === chosen && <CornerDownLeft size={13} className="text-faint" aria-hidden />
            )}
          </div>
        ))}
        {entries.length === 0 && <p className="px-3 py-2 text-sm text-faint">Nothing found.</p>}
      </div>
    </Dialog>
  )
}
