import { Bell, Plus, Search, Settings } from 'lucide-react'
import { useEffect, useSyncExternalStore } from 'react'
import { Link, useLocation, useRoute } from 'wouter'
import { conversationList, loadConversations, loadMoreConversations } from '../data/conversations.ts'
import { loadWaits, waits } from '../data/waits.ts'
import { Button } from '../primitives/button.tsx'
import { ConversationRow } from './conversation-row.tsx'

/** How often the list is loaded again, to find conversations that were created in other tabs, and new waits. */
const refreshMs = 15_000

/** The conversations, newest first, with a search. */
export function ConversationList({ onChoose }: { onChoose?(): void }) {
  const { items, next, search, loaded, error } = useSyncExternalStore(conversationList.subscribe, conversationList.get)
  const waiting = useSyncExternalStore(waits.subscribe, waits.get)
  const [, go] = useLocation()
  const [, params] = useRoute('/c/:id/*?')
  useEffect(() => {
    const refresh = () => {
      if (document.hidden) return
      void loadConversations()
      void loadWaits()
    }
    refresh()
    const timer = setInterval(refresh, refreshMs)
    document.addEventListener('visibilitychange', refresh)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', refresh)
    }
  }, [])
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
      <ul className="min-h-0 flex-1 overflow-y-auto" aria-label="All conversations">
        {items.map((conversation) => (
          <li key={conversation.id}>
            <ConversationRow conversation={conversation} current={params?.id === conversation.id} {...(onChoose && { onChoose })} />
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
      <div className="flex flex-col border-t border-line pt-1 text-sm text-soft">
        <Link href="/waiting" onClick={onChoose} className="flex items-center gap-2 rounded-md px-2 py-1.5 hover:bg-hover">
          <Bell size={15} aria-hidden /> <span className="flex-1">Waiting</span>
          {waiting.length > 0 && <span className="rounded-full bg-accent px-1.5 text-xs font-medium text-on-accent">{waiting.length}</span>}
        </Link>
        <Link href="/settings" onClick={onChoose} className="flex items-center gap-2 rounded-md px-2 py-1.5 hover:bg-hover">
          <Settings size={15} aria-hidden /> Settings
        </Link>
      </div>
    </nav>
  )
}
