import { type ReactNode, useCallback, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { loadConversations } from '../data/conversations.ts'
import { rememberFirstMessage } from '../data/first-message.ts'
import { sendMessage } from '../data/send.ts'
import { client } from '../data/session.ts'
import { conversationPath } from '../routes.ts'
import { Composer } from './composer/composer.tsx'
import type { SendDraft } from './composer/use-draft.ts'

/** The empty page. The first message creates a conversation. `children` are shown below the message box. */
export function NewChat({ children }: { readonly children?: ReactNode }) {
  const [, go] = useLocation()
  const created = useRef<string>(undefined)
  useEffect(() => {
    document.title = 'Daybook'
  }, [])
  const send: SendDraft = useCallback(
    async (message, onProgress) => {
      created.current ??= (await client.conversations.create()).id // if sending failed, the next try uses the same conversation
      const id = created.current
      await sendMessage(id, message, onProgress)
      rememberFirstMessage({ conversationId: id, text: message.text, fileNames: message.files.map(({ name }) => name) })
      void loadConversations()
      setTimeout(() => go(conversationPath(id))) // in a later task, because the composer first has to remove the draft
    },
    [go],
  )
  return (
    <section className="flex h-full flex-col justify-center gap-6 pb-[12dvh]" aria-label="New conversation">
      <h1 className="px-4 text-center text-2xl font-semibold">What would you like to know?</h1>
      <Composer draftKey="new" running={false} send={send} />
      {children}
    </section>
  )
}
