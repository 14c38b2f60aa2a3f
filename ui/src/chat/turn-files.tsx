import type { FileView } from 'daybook/client'
import { Download, FileText } from 'lucide-react'
import { useContext } from 'react'
import { saveFile } from '../data/files.ts'
import { fileSize } from '../model/time.ts'
import { IconButton } from '../primitives/button.tsx'
import { ChatActionsContext } from './chat-actions.ts'

/** The files that the agent made in a turn. A click on a file shows it. Each file can also be downloaded. */
export function TurnFiles({ files }: { readonly files: readonly FileView[] }) {
  const { openPanel } = useContext(ChatActionsContext)
  const shown = files.filter(({ rn }) => rn !== undefined)
  if (shown.length === 0) return null
  return (
    <ul className="grid gap-2 sm:grid-cols-2" aria-label="Files">
      {shown.map(({ rn = '', filename, mime, size, description }) => (
        <li key={rn} className="flex items-center gap-1 rounded-lg border border-line pr-1 hover:bg-hover">
          <button
            type="button"
            onClick={() => openPanel({ kind: 'file', rn, filename, mime })}
            className="flex min-w-0 flex-1 items-center gap-3 px-3 py-2 text-left text-sm"
          >
            <FileText size={18} className="shrink-0 text-accent" aria-hidden />
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium">{filename}</span>
              <span className="block truncate text-xs text-faint">
                {[description, size === undefined ? undefined : fileSize(size)].filter(Boolean).join(' · ')}
              </span>
            </span>
          </button>
          <IconButton label={`Download ${filename}`} onClick={() => void saveFile(rn, filename)}>
            <Download size={16} />
          </IconButton>
        </li>
      ))}
    </ul>
  )
}
