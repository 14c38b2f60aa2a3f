import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { IconButton } from './button.tsx'

interface CopyButtonProps {
  readonly label: string
  readonly text: string
  /** The copied text as HTML, for programs that accept formatted text. */
  readonly html?: () => string | undefined
}

/** Copies a text. A check mark shows for a moment that it is done. */
export function CopyButton({ label, text, html }: CopyButtonProps) {
  const [copied, setCopied] = useState(false)
  async function copy() {
    const formatted = html?.()
    const parts: Record<string, Blob> = { 'text/plain': new Blob([text], { type: 'text/plain' }) }
    if (formatted !== undefined) parts['text/html'] = new Blob([formatted], { type: 'text/html' })
    await navigator.clipboard.write([new ClipboardItem(parts)])
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <IconButton label={copied ? 'Copied' : label} className="size-7" onClick={copy}>
      {copied ? <Check size={14} /> : <Copy size={14} />}
    </IconButton>
  )
}
