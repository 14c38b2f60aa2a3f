import { useCallback, useEffect, useLayoutEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { type ConversationStore, openConversation } from '../data/conversation-store.ts'
import { loadConversations, showOpenTurn, showTitle } from '../data/conversations.ts'
import { firstMessageOf } from '../data/first-message.ts'
import { sendMessage } from '../data/send.ts'
import { client } from '../data/session.ts'
import { loadWaits } from '../data/waits.ts'
import { SourcesContext } from '../markdown/sources-context.ts'
import { commandOf } from '../model/keys.ts'
import { runningTurn } from '../model/turn-items.ts'
import { type ChatActions, ChatActionsContext, type PanelContent } from './chat-actions.ts'
import { Composer } from './composer/composer.tsx'
import type { SendDraft } from './composer/use-draft.ts'
import { ConnectionLine } from './connection-line.tsx'
import { FirstQuestion } from './first-question.tsx'
import { Panel, type RenderFile } from './panel.tsx'
import { Thread } from './thread.tsx'
import { WaitingMessages } from './waiting-messages.tsx'

/** A conversation with its composer. */
export function ChatPage({ id, renderFile }: { readonly id: string; renderFile: RenderFile }) {
  const store = useConversation(id)
  return store && <OpenChat key={id} id={id} store={store} renderFile={renderFile} />
}

function OpenChat({ id, store, renderFile }: { readonly id: string; readonly store: ConversationStore; renderFile: RenderFile }) {
  const { view, loaded, refused, connection, attempt } = useSyncExternalStore(store.subscribe, store.get)
  const [panel, setPanel] = useState<PanelContent>()
  const [edit, setEdit] = useState<{ readonly text: string }>()
  const [finding, setFinding] = useState(false)
  const running = runningTurn(view) !== undefined
  useEffect(() => {
    if (view.title === undefined) return
    document.title = `${view.title} · Daybook`
    showTitle(id, view.title)
  }, [id, view.title])
  const last = view.turns.at(-1)
  const first = loaded && last?.prompt !== undefined ? undefined : firstMessageOf(id)
  const openTurn = last && last.endedAt === undefined ? last.id : null
  const waitIds = last?.waits.map(({ wait_id }) => wait_id).join(' ') ?? ''
  useEffect(() => {
    if (loaded) showOpenTurn(id, openTurn)
  }, [id, loaded, openTurn])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is loaded again when a wait of this conversation begins or ends
  useEffect(() => void loadWaits(), [waitIds])
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (commandOf(event, false) !== 'find') return
      event.preventDefault()
      setFinding(true)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  const actions = useMemo(() => actionsOf(id, setPanel, setEdit), [id])
  const send: SendDraft = useCallback(
    async ({ text, files, mode, key }, onProgress) => {
      await sendMessage(id, { text, files, mode, key }, onProgress)
      void loadConversations()
    },
    [id],
  )
  if (refused) return <Refused status={refused.status} message={refused.message} />
  return (
    <ChatActionsContext value={actions}>
      <SourcesContext value={view.sources}>
        <div className="flex h-full">
          <section className="flex min-w-0 flex-1 flex-col" aria-label={view.title ?? 'Conversation'}>
            {connection === 'lost' && <ConnectionLine attempt={attempt} running={running} onRetry={store.retry} />}
            {first ? (
              <FirstQuestion message={first} />
            ) : loaded ? (
              <Thread id={id} view={view} finding={finding} onFindClose={() => setFinding(false)} />
            ) : (
              <div className="flex-1" aria-busy="true" />
            )}
            <WaitingMessages messages={first ? [] : view.waiting} />
            <Composer
              draftKey={id}
              running={running}
              send={send}
              lastMessage={last?.prompt}
              edit={edit}
              onStop={() => void client.stop(id)}
            />
          </section>
          {panel && <Panel content={panel} view={view} renderFile={renderFile} onClose={() => setPanel(undefined)} />}
        </div>
      </SourcesContext>
    </ChatActionsContext>
  )
}

function actionsOf(id: string, openPanel: (panel: PanelContent) => void, setEdit: (edit: { readonly text: string }) => void): ChatActions {
  return {
    conversationId: id,
    send: (text, mode = 'followup') => sendMessage(id, { text, mode, files: [], key: crypto.randomUUID() }, () => {}),
    readParams: async (callId) => {
      const { waits } = await client.waiting({ conversationId: id })
      return waits.find(({ call_id }) => call_id === callId)?.params
    },
    decide: async (callId, decision) => {
      await client.decide(id, callId, decision)
      void loadWaits()
    },
    feedback: (turnId, reaction, text) => client.feedback(id, text, { turnId, reaction }),
    edit: (text) => setEdit({ text }),
    openPanel,
  }
}

/** Opens a conversation while the component is shown. */
function useConversation(id: string): ConversationStore | undefined {
  const [open, setOpen] = useState<{ readonly id: string; readonly store: ConversationStore }>()
  useLayoutEffect(() => {
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
