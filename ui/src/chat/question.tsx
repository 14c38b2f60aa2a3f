import type { FileView } from 'daybook/client'
import { Paperclip } from 'lucide-react'

/** The message that began a turn. */
export function Question({ text, attachments }: { readonly text: string; readonly attachments: readonly FileView[] }) {
  return (
    <div className="ml-auto w-fit max-w-[85%] rounded-2xl rounded-br-md bg-tint px-4 py-2">
      <h2 className="sr-only">You asked</h2>
      {attachments.length > 0 && (
        <ul className="flex flex-wrap gap-x-3 text-sm text-soft" aria-label="Attached files">
          {attachments.map(({ path, filename }) => (
            <li key={path} className="flex items-center gap-1 wrap-anywhere">
              <Paperclip size={13} aria-hidden /> {filename}
            </li>
          ))}
        </ul>
      )}
      <p className="whitespace-pre-wrap wrap-anywhere">{text}</p>
    </div>
  )
}
