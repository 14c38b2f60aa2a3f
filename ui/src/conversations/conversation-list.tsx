import { Plus, Search } from 'lucide-react'
import { useEffect, useSyncExternalStore } from 'react'
import { Link, useLocation, useRoute } from 'wouter'
import { conversationList, loadConversations, loadMoreConversations } from '../data/conversations.ts'
import { Button } from '../primitives/button.tsx'
import { conversationPath } from '../routes.ts'

/** The conversations, newest first, with a search. */
export function ConversationList({ onChoose }: { onChoose?(): void }) {
  const { items, next, search, loaded, error } = useSyncExternalStore(conversationList.subscribe, conversationList.get)
  const [, go] = useLocation()
  const [, params] = useRoute('/c/:id/*?')
  useEffect(() => void loadConversations(), [])
  function startNew() {
    go('/')
    onChoose?.()
  }
  return (
    <nav className="flex h-full flex-col gap-2 bg-side p-2" aria-label="Conversations">
      <div className="flex items-center justify-between py-1 pl-2">
        <span className="font-semibold">Daybook</span>
        <Button look="quiet" onClick={startNew}>
          <Plus size={15} aria-hidden /> New
        </Button>
      </div>
      <label className="flex items-center gap-2 rounded-md border border-line bg-page px-2.5 py-1 text-faint focus-within:border-accent">
        <Search size={14} aria-hidden />
        <input
          type="search"
          value={search}
          placeholder="Search"
          aria-label="Search conversations"
          className="w-full bg-transparent text-base text-ink outline-none placeholder:text-faint md:text-sm"
          onChange={(event) => void loadConversations(event.target.value)}
        />
      </label>
      <ul className="min-h-0 flex-1 overflow-y-auto">
        {items.map(({ id, title, open_turn: openTurn }) => (
          <li key={id}>
            <Link
              href={conversationPath(id)}
              onClick={onChoose}
              aria-current={params?.id === id ? 'page' : undefined}
              className="flex items-center gap-2 rounded-md px-2 py-1.5 text-sm hover:bg-hover aria-[current=page]:bg-hover aria-[current=page]:font-medium"
            >
              <span className="flex-1 truncate">{title ?? 'Untitled'}</span>
              {openTurn !== null && <span className="pulse size-1.5 rounded-full bg-accent" role="img" aria-label="running" />}
            </Link>
          </li>
        ))}
        {next !== undefined && (
          <li className="p-1">
            <Button look="quiet" onClick={() => void loadMoreConversations()}>
              Show more
            </Button>
          </li>
        )}
        {loaded && items.length === 0 && (
          <li className="p-2 text-sm text-faint">{error ?? (search === '' ? 'No conversations yet.' : 'Nothing found.')}</li>
        )}
      </ul>
    </nav>
  )
}
