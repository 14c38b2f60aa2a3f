import { ArrowUp, Square } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { IconButton } from '../../primitives/button.tsx'

export type SendMode = 'followup' | 'steer'

interface ComposerProps {
  readonly running: boolean
  /** Resolves when the server has stored the message. Rejects if it was refused. */
  onSend(text: string, mode: SendMode): Promise<void>
  onStop(): void
}

/** The box for a message. Its text is state of its own, so that typing draws nothing else again. */
export function Composer({ running, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const [sending, setSending] = useState(false)
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => box.current?.focus({ preventScroll: true }), [])

  async function send(mode: SendMode) {
    if (text.trim() === '' || sending) return
    setSending(true)
    setProblem(undefined)
    try {
      await onSend(text, mode)
      setText('')
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    } finally {
      setSending(false)
    }
  }
  function onKeyDown(event: KeyboardEvent) {
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229 // 229: Safari ends a composition with this key
    if (event.key !== 'Enter' || event.shiftKey || isComposing) return
    event.preventDefault()
    void send(running && (event.ctrlKey || event.metaKey) ? 'steer' : 'followup')
  }
  return (
    <form
      className="mx-auto w-full max-w-3xl px-4 pb-[max(1rem,env(safe-area-inset-bottom))]"
      onSubmit={(event) => {
        event.preventDefault()
        void send('followup')
      }}
    >
      {problem !== undefined && (
        <p role="alert" className="mb-2 rounded-md bg-bad-tint px-3 py-1.5 text-sm text-bad">
          {problem}
        </p>
      )}
      <div className="flex items-end gap-2 rounded-2xl border border-line bg-page py-1.5 pr-2 pl-4 shadow-sm focus-within:border-accent">
        <textarea
          ref={box}
          value={text}
          rows={1}
          aria-label="Message"
          placeholder="Ask something"
          className="field-sizing-content max-h-[40dvh] min-h-9 flex-1 resize-none bg-transparent py-1.5 text-base leading-6 outline-none placeholder:text-faint"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {running && (
          <IconButton label="Stop (Esc)" onClick={onStop} className="bg-hover text-ink">
            <Square size={13} fill="currentColor" />
          </IconButton>
        )}
        <IconButton
          label="Send"
          type="submit"
          disabled={text.trim() === '' || sending}
          className="bg-accent text-on-accent hover:bg-accent hover:text-on-accent"
        >
          <ArrowUp size={17} />
        </IconButton>
      </div>
    </form>
  )
}
