import { Menu as BaseMenu } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { Kbd } from './kbd.tsx'

interface MenuProps {
  readonly label: string
  readonly icon: ReactNode
  readonly side?: 'top' | 'bottom'
  readonly className?: string
  readonly children: ReactNode
}

/** A button that opens a menu. */
export function Menu({ label, icon, side = 'bottom', className = '', children }: MenuProps) {
  return (
    <BaseMenu.Root modal={false}>
      <BaseMenu.Trigger
        aria-label={label}
        title={label}
        className={`inline-flex size-8 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink ${className}`}
      >
        {icon}
      </BaseMenu.Trigger>
      <BaseMenu.Portal>
        <BaseMenu.Positioner side={side} align="end" sideOffset={4} collisionPadding={8} className="z-20">
          <BaseMenu.Popup className="min-w-44 rounded-lg border border-line bg-page p-1 text-sm shadow-lg outline-none">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  )
}

interface MenuItemProps {
  readonly children: ReactNode
  /** The keys that do the same as this item. */
  readonly keys?: string
  readonly danger?: boolean
  onSelect(): void
}

export function MenuItem({ children, keys, danger = false, onSelect }: MenuItemProps) {
  return (
    <BaseMenu.Item
      onClick={onSelect}
      className={`flex cursor-default items-center gap-2 rounded-md px-2 py-1.5 outline-none data-highlighted:bg-hover ${danger ? 'text-bad' : ''}`}
    >
      <span className="flex-1">{children}</span>
      {keys !== undefined && <Kbd keys={keys} />}
    </BaseMenu.Item>
  )
}
