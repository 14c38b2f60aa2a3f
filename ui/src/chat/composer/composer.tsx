import { ArrowUp, Paperclip, Square } from 'lucide-react'
import { type ClipboardEvent, type KeyboardEvent, useEffect, useRef } from 'react'
import { longPaste } from '../../model/attach.ts'
import { IconButton } from '../../primitives/button.tsx'
import { DraftFiles } from './draft-files.tsx'
import { SendMenu } from './send-menu.tsx'
import { type SendDraft, useDraft } from './use-draft.ts'
import { useDrop } from './use-drop.ts'

interface ComposerProps {
  /** The name under which the browser stores the draft. */
  readonly draftKey: string
  readonly running: boolean
  readonly send: SendDraft
  /** The last message that was sent, which the arrow key recalls. */
  readonly lastMessage?: string | undefined
  /** A text that another part of the page puts into this box, so that the person can edit it. */
  readonly edit?: { readonly text: string } | undefined
  onStop?(): void
}

/** The box for a message. The box holds its text in its own state, so that typing renders only the box. */
export function Composer({ draftKey, running, send, lastMessage, edit, onStop }: ComposerProps) {
  const { state, setText, attach, detach, submit } = useDraft(draftKey, send)
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const dropping = useDrop(attach)
  useEffect(() => {
    // not on a phone, because the focus would open its keyboard
    if (matchMedia('(pointer: fine)').matches) box.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    if (!edit) return
    setText(edit.text)
    box.current?.focus({ preventScroll: true })
  }, [edit, setText])

  function onKeyDown(event: KeyboardEvent) {
    const isComposing = event.nativeEvent.isComposing || event.keyCode === 229 // 229: the key code with which Safari ends a composition
    if (isComposing) return
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void submit(running && (event.ctrlKey || event.metaKey) ? 'steer' : 'followup')
    } else if (event.key === 'ArrowUp' && state.text === '' && lastMessage !== undefined) {
      event.preventDefault()
      setText(lastMessage)
    } else if (event.key === 'Escape' && running) {
      event.preventDefault()
      onStop?.()
    }
  }
  function onPaste(event: ClipboardEvent) {
    const files = [...event.clipboardData.files]
    const text = event.clipboardData.getData('text/plain')
    if (files.length > 0) attach(files)
    else if (text.length > longPaste) attach([new File([text], 'pasted.txt', { type: 'text/plain' })])
    else return
    event.preventDefault()
  }
  const canSend = state.progress === undefined && (state.text.trim() !== '' || state.files.length > 0)
  return (
    <form
      className="mx-auto w-full max-w-3xl px-4 pt-1 pb-[max(0.75rem,env(safe-area-inset-bottom))]"
      aria-label="Message"
      onSubmit={(event) => {
        event.preventDefault()
        void submit('followup')
      }}
    >
      {state.problems.length > 0 && (
        <ul role="alert" className="mb-2 rounded-lg bg-bad-tint px-3 py-1.5 text-sm text-bad">
          {state.problems.map((problem) => (
            <li key={problem} className="wrap-anywhere">
              {problem}
            </li>
          ))}
        </ul>
      )}
      <div
        className={`rounded-2xl border bg-page shadow-sm focus-within:border-accent ${dropping ? 'border-accent bg-tint' : 'border-line'}`}
        data-dropping={dropping || undefined}
      >
        <DraftFiles files={state.files} progress={state.progress} onRemove={detach} />
        <div className="flex items-end gap-1 py-1.5 pr-1.5 pl-1.5">
          <IconButton label="Attach files" onClick={() => picker.current?.click()} className="mb-0.5">
            <Paperclip size={17} />
          </IconButton>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Files"
            onChange={(event) => {
              attach([...(event.target.files ?? [])])
              event.target.value = ''
            }}
          />
          <textarea
            ref={box}
            value={state.text}
            rows={1}
            aria-label="Message"
            placeholder={running ? 'Add a message' : 'Ask something, or drop a file'}
            className="field-sizing-content max-h-[40dvh] min-h-9 flex-1 resize-none bg-transparent px-1 py-1.5 text-base leading-6 outline-none placeholder:text-faint"
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKeyDown}
            onPaste={onPaste}
          />
          {running && canSend && <SendMenu onSend={(mode) => void submit(mode)} />}
          {running && (
            <IconButton label="Stop (Esc)" onClick={onStop} className="mb-0.5 bg-hover text-ink">
              <Square size={13} fill="currentColor" />
            </IconButton>
          )}
          <IconButton label="Send" type="submit" look="primary" disabled={!canSend} className="mb-0.5">
            <ArrowUp size={17} />
          </IconButton>
        </div>
      </div>
    </form>
  )
}
