import { ChevronUp } from 'lucide-react'
import { Menu, MenuItem } from '../../primitives/menu.tsx'
import type { SendMode } from './use-draft.ts'

/** The ways to send a message while the agent works, with their keys. */
export function SendMenu({ onSend }: { onSend(mode: SendMode): void }) {
  return (
    <Menu label="Ways to send" icon={<ChevronUp size={16} />} side="top">
      <MenuItem keys="Enter" onSelect={() => onSend('followup')}>
        Follow up <span className="text-faint">read at the next step</span>
      </MenuItem>
      <MenuItem keys="Ctrl Enter" onSelect={() => onSend('steer')}>
        Steer <span className="text-faint">interrupt it now</span>
      </MenuItem>
    </Menu>
  )
}
