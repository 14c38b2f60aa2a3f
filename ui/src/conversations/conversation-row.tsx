import type { ConversationSummary } from 'daybook/client'
import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { dropConversation, loadConversations, showTitle } from '../data/conversations.ts'
import { client } from '../data/session.ts'
import { Button } from '../primitives/button.tsx'
import { Dialog } from '../primitives/dialog.tsx'
import { Menu, MenuItem } from '../primitives/menu.tsx'
import { conversationPath, inspectPath } from '../routes.ts'

interface ConversationRowProps {
  readonly conversation: ConversationSummary
  readonly current: boolean
  onChoose?(): void
}

/** A conversation in the list, with a menu to rename, copy and delete it. */
export function ConversationRow({ conversation, current, onChoose }: ConversationRowProps) {
  const { id, title, open_turn: openTurn } = conversation
  const [, go] = useLocation()
  const [mode, setMode] = useState<'row' | 'rename' | 'delete'>('row')
  const [problem, setProblem] = useState<string>()
  const name = title ?? 'Untitled'

  async function attempt(action: () => Promise<void>) {
    setProblem(undefined)
    try {
      await action()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const rename = (text: string) =>
    attempt(async () => {
      setMode('row')
      if (text.trim() === '' || text === title) return
      await client.conversations.change(id, { title: text.trim() })
      showTitle(id, text.trim())
    })
  const fork = () =>
    attempt(async () => {
      const copy = await client.conversations.fork(id)
      await loadConversations()
      go(conversationPath(copy.id))
    })
  const remove = () =>
    attempt(async () => {
      await client.conversations.delete(id)
      setMode('row')
      dropConversation(id)
      if (current) go('/')
    })

  if (mode === 'rename') return <RenameField name={title ?? ''} onEnd={(text) => void rename(text)} />
  return (
    <div className={`group flex items-center rounded-md hover:bg-hover ${current ? 'bg-hover' : ''}`}>
      <Link
        href={conversationPath(id)}
        onClick={onChoose}
        aria-current={current ? 'page' : undefined}
        className="flex min-w-0 flex-1 items-center gap-2 rounded-md py-1.5 pl-2 text-sm aria-[current=page]:font-medium"
      >
        <span className="flex-1 truncate">{name}</span>
        {openTurn !== null && <span className="pulse size-1.5 rounded-full bg-accent" role="img" aria-label="running or waiting" />}
      </Link>
      <Menu
        label={`More about ${name}`}
        icon={<Ellipsis size={15} />}
        className={`size-7 ${current ? '' : 'opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 data-popup-open:opacity-100 pointer-coarse:opacity-100'}`}
      >
        <MenuItem onSelect={() => go(inspectPath(id, 'timeline'))}>Inspect</MenuItem>
        <MenuItem onSelect={() => setMode('rename')}>Rename</MenuItem>
        <MenuItem onSelect={() => void fork()}>Make a copy</MenuItem>
        <MenuItem danger onSelect={() => setMode('delete')}>
          Delete
        </MenuItem>
      </Menu>
      {mode === 'delete' && (
        <Dialog label={`Delete ${name}?`} onClose={() => setMode('row')} className="p-5">
          <p className="font-medium">Delete “{name}”?</p>
          <p className="mt-1 text-sm text-soft">Its messages and files will be deleted. This can not be undone.</p>
          {problem !== undefined && <p className="mt-2 text-sm text-bad">{problem}</p>}
          <div className="mt-4 flex justify-end gap-2">
            <Button onClick={() => setMode('row')}>Keep it</Button>
            <Button look="danger" onClick={() => void remove()}>
              Delete
            </Button>
          </div>
        </Dialog>
      )}
      {mode === 'row' && problem !== undefined && (
        <span role="alert" className="px-2 text-xs text-bad">
          {problem}
        </span>
      )}
    </div>
  )
}

function RenameField({ name, onEnd }: { readonly name: string; onEnd(text: string): void }) {
  const [text, setText] = useState(name)
  return (
    <input
      ref={(element) => element?.focus()}
      value={text}
      aria-label="Title"
      maxLength={200}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => onEnd(text)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && !event.nativeEvent.isComposing) onEnd(text)
        if (event.key === 'Escape') onEnd(name)
      }}
      className="w-full rounded-md border border-accent bg-page px-2 py-1 text-base outline-none md:text-sm"
    />
  )
}
