import type { ReactNode } from 'react'

/** Whether a link may be opened: an address of the web or of a mail program. Others, such as `javascript:`, are shown as text. */
export const isSafeAddress = (href: string) => /^(?:https?:|mailto:)/i.test(href)

export function MarkdownLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  if (!isSafeAddress(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}
