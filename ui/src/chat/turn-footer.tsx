import type { TurnView } from 'daybook/client'
import { ThumbsDown, ThumbsUp } from 'lucide-react'
import { useContext, useRef, useState } from 'react'
import { showRemovedChunks } from '../markdown/removed-chunks.ts'
import { duration } from '../model/time.ts'
import { Button, IconButton } from '../primitives/button.tsx'
import { CopyButton } from '../primitives/copy-button.tsx'
import { ChatActionsContext } from './chat-actions.ts'

/** The buttons below an answer: copy it, or give feedback. */
export function TurnFooter({ turn }: { readonly turn: TurnView }) {
  const { feedback } = useContext(ChatActionsContext)
  const [reaction, setReaction] = useState<'ok' | 'not_ok'>()
  const [words, setWords] = useState('')
  const [state, setState] = useState<'none' | 'asking' | 'sent' | 'failed'>('none')
  const bar = useRef<HTMLDivElement>(null)
  const answer = turn.answers.at(-1)
  if (!answer || turn.endedAt === undefined || turn.failed) return null

  async function send(value: 'ok' | 'not_ok', text: string) {
    setReaction(value)
    try {
      await feedback(turn.id, value, text)
      setState(text === '' && value === 'not_ok' ? 'asking' : 'sent')
    } catch {
      setState('failed')
    }
  }
  const html = () => plainHtml(bar.current?.closest('article')?.querySelector('[data-answer="last"]'))
  return (
    <div ref={bar} className="-ml-1.5 flex flex-wrap items-center gap-0.5 text-xs text-faint">
      <CopyButton label="Copy answer" text={answer.text} html={html} />
      <IconButton
        label="Good answer"
        aria-pressed={reaction === 'ok'}
        className="size-7 aria-pressed:text-accent"
        onClick={() => void send('ok', '')}
      >
        <ThumbsUp size={14} />
      </IconButton>
      <IconButton
        label="Bad answer"
        aria-pressed={reaction === 'not_ok'}
        className="size-7 aria-pressed:text-accent"
        onClick={() => void send('not_ok', '')}
      >
        <ThumbsDown size={14} />
      </IconButton>
      <span className="ml-1">{duration(Date.parse(turn.endedAt) - Date.parse(turn.startedAt))}</span>
      <span role="status" className="ml-2">
        {state === 'sent' && 'Thank you. The agent reads your feedback in the next turn.'}
        {state === 'failed' && 'This could not be sent. Try again.'}
      </span>
      {state === 'asking' && (
        <form
          className="flex w-full gap-2 pt-1 pl-1.5"
          onSubmit={(event) => {
            event.preventDefault()
            void send('not_ok', words.trim())
          }}
        >
          <input
            value={words}
            aria-label="What was wrong?"
            placeholder="What was wrong?"
            onChange={(event) => setWords(event.target.value)}
            className="min-w-0 flex-1 rounded-md border border-line bg-page px-2 py-1 text-base text-ink md:text-sm"
          />
          <Button type="submit" disabled={words.trim() === ''}>
            Send
          </Button>
        </form>
      )}
    </div>
  )
}

/** The HTML of an answer for other programs: without buttons, classes and styles. */
function plainHtml(answer: Element | null | undefined): string | undefined {
  if (answer) showRemovedChunks(answer)
  const copy = answer?.cloneNode(true)
  if (!(copy instanceof Element)) return undefined
  for (const element of copy.querySelectorAll('button, figcaption, .sr-only, .katex-html')) element.remove()
  for (const element of copy.querySelectorAll('*'))
    for (const { name } of [...element.attributes]) if (name !== 'href' && name !== 'start') element.removeAttribute(name)
  return copy.innerHTML
}
