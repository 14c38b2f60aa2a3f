import type { FirstMessage } from '../data/first-message.ts'
import { Question } from './question.tsx'
import { RunningLine } from './running-line.tsx'

/**
 * The first message of a new conversation. It is shown until the thread has been loaded, at the position that it will have in the thread.
 */
export function FirstQuestion({ message: { text, fileNames } }: { readonly message: FirstMessage }) {
  const attachments = fileNames.map((filename) => ({ path: filename, filename }))
  return (
    <div className="min-h-0 flex-1 overflow-hidden pt-6" role="log" aria-label="Conversation" aria-busy="true">
      <div className="mx-auto flex w-full max-w-3xl flex-col gap-3 px-4">
        <Question text={text} attachments={attachments} />
        <RunningLine live={undefined} />
      </div>
    </div>
  )
}
