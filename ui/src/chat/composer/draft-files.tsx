import { FileText, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { fileSize } from '../../model/time.ts'

interface DraftFilesProps {
  readonly files: readonly File[]
  readonly progress: number | undefined
  onRemove(file: File): void
}

/** The files that will be sent with the message. */
export function DraftFiles({ files, progress, onRemove }: DraftFilesProps) {
  if (files.length === 0) return null
  return (
    <div className="px-3 pt-2.5">
      <ul className="flex flex-wrap gap-2" aria-label="Files to send">
        {files.map((file) => (
          <li key={file.name} className="flex max-w-full items-center gap-2 rounded-lg bg-hover py-1 pr-1 pl-2 text-sm">
            <Thumbnail file={file} />
            <span className="truncate">{file.name}</span>
            <span className="shrink-0 text-xs text-faint">{fileSize(file.size)}</span>
            <button
              type="button"
              aria-label={`Remove ${file.name}`}
              disabled={progress !== undefined}
              onClick={() => onRemove(file)}
              className="rounded p-1 text-faint hover:text-ink disabled:opacity-30"
            >
              <X size={13} />
            </button>
          </li>
        ))}
      </ul>
      {progress !== undefined && (
        <progress className="mt-2 h-1 w-full accent-(--accent)" value={progress} max={1} aria-label="Sending files" />
      )}
    </div>
  )
}

function Thumbnail({ file }: { readonly file: File }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!/^image\/(?:png|jpeg|gif|webp|avif)$/.test(file.type)) return
    const made = URL.createObjectURL(file)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [file])
  if (url === undefined) return <FileText size={15} className="shrink-0 text-faint" aria-hidden />
  return <img src={url} alt="" className="size-7 shrink-0 rounded object-cover" />
}
