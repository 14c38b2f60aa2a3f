import { useEffect, useState, useSyncExternalStore } from 'react'
import { type ConversationStore, openConversation } from '../data/conversation-store.ts'
import { loadConversations, showTitle } from '../data/conversations.ts'
import { client } from '../data/session.ts'
import { runningTurn } from '../model/turn-items.ts'
import { Composer, type SendMode } from './composer/composer.tsx'
import { Thread } from './thread.tsx'

/** A conversation with its composer. */
export function ChatPage({ id }: { readonly id: string }) {
  const store = useConversation(id)
  return store && <OpenChat key={id} id={id} store={store} />
}

function OpenChat({ id, store }: { readonly id: string; readonly store: ConversationStore }) {
  const { view, loaded, refused } = useSyncExternalStore(store.subscribe, store.get)
  const running = runningTurn(view) !== undefined
  useEffect(() => {
    if (view.title === undefined) return
    document.title = `${view.title} · Daybook`
    showTitle(id, view.title)
  }, [id, view.title])
  if (refused) return <Refused status={refused.status} message={refused.message} />
  const send = async (text: string, mode: SendMode) => {
    await client.send(id, text, { mode, idempotencyKey: crypto.randomUUID() })
    void loadConversations()
  }
  return (
    <section className="flex h-full flex-col" aria-label={view.title ?? 'Conversation'}>
      {loaded ? <Thread id={id} view={view} /> : <div className="flex-1" aria-busy="true" />}
      <Composer running={running} onSend={send} onStop={() => void client.stop(id)} />
    </section>
  )
}

/** Opens a conversation while the component is shown. */
function useConversation(id: string): ConversationStore | undefined {
  const [open, setOpen] = useState<{ readonly id: string; readonly store: ConversationStore }>()
  useEffect(() => {
    const store = openConversation(client, id)
    setOpen({ id, store })
    return () => store.close()
  }, [id])
  return open?.id === id ? open.store : undefined
}

function Refused({ status, message }: { readonly status: number; readonly message: string }) {
  return (
    <div className="m-auto max-w-sm p-8 text-center text-soft" role="alert">
      <p className="font-medium text-ink">{status === 404 ? 'This conversation does not exist.' : message}</p>
      <p>{status === 404 ? 'It may have been deleted. Choose another one, or ask something new.' : 'Reload the page to try again.'}</p>
    </div>
  )
}
