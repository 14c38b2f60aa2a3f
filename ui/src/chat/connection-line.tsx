import { Unplug } from 'lucide-react'
import { Button } from '../primitives/button.tsx'

interface ConnectionLineProps {
  readonly attempt: number
  readonly running: boolean
  onRetry(): void
}

/** Shows that the connection to the server is lost. A running turn continues without the connection. */
export function ConnectionLine({ attempt, running, onRetry }: ConnectionLineProps) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 bg-raised px-3 py-1 text-sm text-soft">
      <Unplug size={14} className="text-warn" aria-hidden />
      <span>
        Connection lost. {running ? 'The turn continues.' : ''} <span className="text-faint">Attempt {attempt}</span>
      </span>
      <Button look="quiet" onClick={onRetry}>
        Retry now
      </Button>
    </div>
  )
}
