import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { client } from '../../data/session.ts'
import { MarkdownText } from '../../markdown/markdown-text.tsx'
import { ViewerFrame } from '../../primitives/viewer-frame.tsx'
import { CsvPreview } from './csv-preview.tsx'

const PdfPreview = lazy(() => import('./pdf-preview.tsx'))

interface FilePreviewProps {
  readonly rn: string
  readonly filename: string
  readonly mime: string | undefined
}

/** A longer text is not shown, because showing it would take too long. */
const maxTextBytes = 2_000_000

/** The content of a file. It is fetched as a blob, because a link can not send the token. Files that can not be shown can be downloaded. */
export default function FilePreview({ rn, filename, mime = '' }: FilePreviewProps) {
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
  return <BlobPreview blob={blob} filename={filename} kind={kindOf(filename, mime)} />
}

type Kind = 'picture' | 'pdf' | 'html' | 'svg' | 'markdown' | 'csv' | 'text' | 'other'

const kinds: Readonly<Record<string, Kind>> = {
  'application/pdf': 'pdf',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'image/svg+xml': 'svg',
  'text/markdown': 'markdown',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
}

function kindOf(filename: string, mime: string): Kind {
  const type = mime.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (/^image\/(?:png|jpeg|gif|webp|avif)$/.test(type)) return 'picture'
  const known = Object.hasOwn(kinds, type) ? kinds[type] : undefined
  if (known !== undefined) return known
  if (filename.toLowerCase().endsWith('.csv')) return 'csv'
  return type.startsWith('text/') || type.includes('json') ? 'text' : 'other'
}

function BlobPreview({ blob, filename, kind }: { readonly blob: Blob; readonly filename: string; readonly kind: Kind }) {
  switch (kind) {
    case 'picture':
      return <Picture blob={blob} name={filename} />
    case 'pdf':
      return (
        <Suspense fallback={<p className="text-soft">Loading …</p>}>
          <PdfPreview blob={blob} />
        </Suspense>
      )
    case 'other':
      return <p className="text-soft">This kind of file is not shown here. Download it to open it.</p>
    default:
      if (blob.size > maxTextBytes) return <p className="text-soft">This file is too long to be shown here. Download it to open it.</p>
      return <TextOf blob={blob}>{(text) => <TextPreview text={text} filename={filename} kind={kind} />}</TextOf>
  }
}

interface TextPreviewProps {
  readonly text: string
  readonly filename: string
  readonly kind: 'html' | 'svg' | 'markdown' | 'csv' | 'text'
}

function TextPreview({ text, filename, kind }: TextPreviewProps) {
  const [problem, setProblem] = useState<string>()
  if (kind === 'markdown') return <MarkdownText text={text} live={false} />
  if (kind === 'csv') return <CsvPreview text={text} />
  if (kind === 'text' || problem !== undefined)
    return (
      <>
        {problem !== undefined && <p className="mb-2 text-sm text-soft">{problem} This is its source.</p>}
        <pre className="font-mono text-xs whitespace-pre-wrap wrap-anywhere">{text}</pre>
      </>
    )
  return (
    <>
      <ViewerFrame kind={kind} text={text} label={filename} height="70dvh" onFailed={setProblem} />
      {kind === 'html' && <p className="mt-1.5 text-xs text-faint">Scripts and links in the file do nothing here.</p>}
    </>
  )
}

function TextOf({ blob, children }: { readonly blob: Blob; readonly children: (text: string) => ReactNode }) {
  const [text, setText] = useState<string>()
  useEffect(() => void blob.text().then(setText), [blob])
  return text === undefined ? null : children(text)
}

function Picture({ blob, name }: { readonly blob: Blob; readonly name: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return <img src={url} alt={name} className="mx-auto max-w-full" />
}
