import { type ReactNode, useEffect, useRef } from 'react'

interface DialogProps {
  readonly label: string
  readonly className?: string
  readonly children: ReactNode
  onClose(): void
}

/** A dialog over the page. It is open as long as it is rendered, and closes with Esc and with a click beside it. */
export function Dialog({ label, className = '', children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard closes a dialog with Esc
    <dialog
      ref={dialog}
      aria-label={label}
      className={`fade-in w-[min(32rem,calc(100vw-2rem))] rounded-xl border border-line bg-page text-ink shadow-xl backdrop:bg-black/30 ${className}`}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      {children}
    </dialog>
  )
}
