import { useEffect, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { conversationList } from '../data/conversations.ts'
import { client } from '../data/session.ts'
import { loadWaits, waits } from '../data/waits.ts'
import { mainParameters, toolTitle } from '../model/tool-titles.ts'
import { WaitCard } from '../primitives/wait-card.tsx'
import { conversationPath } from '../routes.ts'

/** Everything that conversations wait for, in one place. Approvals are answered here. */
export function WaitingPage() {
  const list = useSyncExternalStore(waits.subscribe, waits.get)
  const { items } = useSyncExternalStore(conversationList.subscribe, conversationList.get)
  useEffect(() => {
    document.title = 'Waiting · Daybook'
    void loadWaits()
  }, [])
  return (
    <section className="mx-auto h-full max-w-3xl overflow-y-auto px-4 py-6" aria-label="Waiting">
      <h1 className="text-xl font-semibold">Waiting</h1>
      <p className="text-sm text-soft">What the agent needs before it can continue, in all conversations.</p>
      {list.length === 0 && <p className="mt-8 text-soft">Nothing waits.</p>}
      <ul className="mt-4 space-y-4">
        {list.map((wait) => {
          const {
            conversation_id: id,
            wait_id: waitId,
            call_id: callId,
            tool_id: toolId = '',
            params = {},
            question,
            kind,
            approver,
          } = wait
          const { title, detail } = toolTitle(toolId, params, kind === 'approval' ? 'asked' : 'running')
          return (
            <li key={waitId}>
              <Link href={conversationPath(id)} className="text-sm text-accent hover:underline">
                {items.find((item) => item.id === id)?.title ?? 'Conversation'}
              </Link>
              <WaitCard
                title={toolId === '' ? 'Waits' : title}
                detail={detail}
                question={toolId !== '' && question?.includes(toolId) ? undefined : question}
                params={params}
                main={mainParameters(toolId)}
                onlyOperator={approver === 'operator'}
                decide={
                  kind === 'approval' && callId !== undefined
                    ? async (decision) => {
                        await client.decide(id, callId, decision)
                        await loadWaits()
                      }
                    : undefined
                }
              />
            </li>
          )
        })}
      </ul>
    </section>
  )
}
