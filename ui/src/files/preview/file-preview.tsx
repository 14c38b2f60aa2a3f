import { useEffect, useState } from 'react'
import { client } from '../../data/session.ts'
import { MarkdownText } from '../../markdown/markdown-text.tsx'

interface FilePreviewProps {
  readonly rn: string
  readonly filename: string
  readonly mime: string | undefined
}

/** The content of a file. Files that can not be shown can still be downloaded. */
export default function FilePreview({ rn, mime = '' }: FilePreviewProps) {
  const [blob, setBlob] = useState<Blob>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    let left = false
    client.resource(rn).then(
      (loaded) => !left && setBlob(loaded),
      (error: unknown) => !left && setProblem(error instanceof Error ? error.message : String(error)),
    )
    return () => {
      left = true
    }
  }, [rn])
  if (problem !== undefined) return <p role="alert">{problem}</p>
  if (!blob) return <p className="text-soft">Loading …</p>
  if (/^image\/(?:png|jpeg|gif|webp|avif)$/.test(mime)) return <Picture blob={blob} />
  if (mime.startsWith('text/') || mime.includes('json')) return <TextFile blob={blob} isMarkdown={mime === 'text/markdown'} />
  return <p className="text-soft">This kind of file is not shown here. Download it to open it.</p>
}

function Picture({ blob }: { readonly blob: Blob }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return <img src={url} alt="" className="mx-auto max-w-full" />
}

function TextFile({ blob, isMarkdown }: { readonly blob: Blob; readonly isMarkdown: boolean }) {
  const [text, setText] = useState<string>()
  useEffect(() => void blob.text().then(setText), [blob])
  if (text === undefined) return null
  return isMarkdown ? (
    <MarkdownText text={text} live={false} />
  ) : (
    <pre className="font-mono text-xs whitespace-pre-wrap wrap-anywhere">{text}</pre>
  )
}
