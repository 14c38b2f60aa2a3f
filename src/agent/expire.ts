import { planExpiry } from '../core/expiry/expiry.ts'
import type { Turn } from './turn/turn.ts'

/** Folds old content away when the provider's cache has gone cold anyway. Planned before each render; usually there is nothing to do. */
export function expireOldContent(turn: Turn): Promise<void> | undefined {
  const { changes } = planExpiry(turn.ledger.timeline, {
    now: turn.clock.now(),
    currentTurnId: turn.turnId,
    settings: turn.settings.expiry,
    tokens: turn.renderers.estimator,
  })
  return changes.length > 0 ? turn.ledger.commit(changes) : undefined
}
