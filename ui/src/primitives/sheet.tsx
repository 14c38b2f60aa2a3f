import { type ReactNode, useEffect, useRef } from 'react'

interface SheetProps {
  readonly open: boolean
  readonly label: string
  readonly side?: 'left' | 'right'
  readonly children: ReactNode
  onClose(): void
}

/** A panel over the page, at one side of it. It closes with Esc and with a click beside it. */
export function Sheet({ open, label, side = 'left', children, onClose }: SheetProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (open) dialog.current?.showModal()
    else dialog.current?.close()
  }, [open])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard closes a dialog with Esc
    <dialog
      ref={dialog}
      aria-label={label}
      className={`fixed inset-y-0 m-0 h-dvh max-h-dvh w-80 max-w-[86vw] border-line bg-page text-ink backdrop:bg-black/30 ${side === 'left' ? 'left-0 border-r' : 'right-0 left-auto border-l'}`}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      {open && children}
    </dialog>
  )
}
