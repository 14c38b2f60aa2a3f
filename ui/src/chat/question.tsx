import type { FileView } from 'daybook/client'
import { Paperclip } from 'lucide-react'

interface QuestionProps {
  readonly text: string
  readonly attachments: readonly Pick<FileView, 'path' | 'filename'>[]
  /** A label above a message that arrived while the turn was running. */
  readonly label?: string
}

/** A message of the person. */
export function Question({ text, attachments, label }: QuestionProps) {
  return (
    <div className="ml-auto w-fit max-w-[85%]">
      <h2 className="sr-only">You wrote</h2>
      {label !== undefined && <p className="mr-1 text-right text-xs text-faint">{label}</p>}
      <div className="rounded-2xl rounded-br-md bg-tint px-4 py-2">
        {attachments.length > 0 && (
          <ul className="flex flex-wrap gap-x-3 text-sm text-soft" aria-label="Attached files">
            {attachments.map(({ path, filename }) => (
              <li key={path} className="flex items-center gap-1 wrap-anywhere">
                <Paperclip size={13} aria-hidden /> {filename}
              </li>
            ))}
          </ul>
        )}
        {text !== '' && <p className="whitespace-pre-wrap wrap-anywhere">{text}</p>}
      </div>
    </div>
  )
}
