import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { loadConversations } from '../data/conversations.ts'
import { client } from '../data/session.ts'
import { conversationPath } from '../routes.ts'
import { Composer } from './composer/composer.tsx'

/** The empty page. The first message creates a conversation. */
export function NewChat() {
  const [, go] = useLocation()
  useEffect(() => {
    document.title = 'Daybook'
  }, [])
  async function send(text: string) {
    const { id } = await client.conversations.create()
    await client.send(id, text, { idempotencyKey: crypto.randomUUID() })
    void loadConversations()
    go(conversationPath(id))
  }
  return (
    <section className="flex h-full flex-col justify-center gap-6 pb-[12dvh]" aria-label="New conversation">
      <h1 className="text-center text-2xl font-semibold">What would you like to know?</h1>
      <Composer running={false} onSend={send} onStop={() => {}} />
    </section>
  )
}
