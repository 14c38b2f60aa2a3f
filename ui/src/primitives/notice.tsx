import type { ReactNode } from 'react'

/** A few words in the middle of an empty screen. */
export function Notice({
  title,
  children,
  alert = false,
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly alert?: boolean
}) {
  return (
    <div className="m-auto max-w-md p-8 text-center text-soft" {...(alert && { role: 'alert' })}>
      <p className="font-medium text-ink">{title}</p>
      {children}
    </div>
  )
}
