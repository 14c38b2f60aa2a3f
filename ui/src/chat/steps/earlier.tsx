import { History } from 'lucide-react'
import { useState } from 'react'
import { MarkdownText } from '../../markdown/markdown-text.tsx'
import { Disclosure } from './disclosure.tsx'

/** A text that was replaced by a later text. It is folded, and can be opened. */
export function Earlier({ title, text }: { readonly title: string; readonly text: string }) {
  const [open, setOpen] = useState(false)
  return (
    <Disclosure open={open} icon={<History size={14} aria-hidden />} title={title} onToggle={setOpen}>
      <MarkdownText text={text} live={false} />
    </Disclosure>
  )
}
