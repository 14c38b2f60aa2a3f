import type { Section } from './announce.ts'

export interface IterationBudget {
  /** Zero-based decision of the turn. */
  readonly iteration: number
  /** Base and bonus together. */
  readonly max: number
  /** Above 0 when live events earned the turn more rounds. */
  readonly bonus?: number
  readonly elapsedSeconds: number
  /** The call after the last round: an answer, no tools. */
  readonly wrapUp?: boolean | undefined
}

export function iterationTitle(budget: IterationBudget): string {
  const { max, bonus = 0, wrapUp } = budget
  const granted = bonus > 0 ? ` (${max - bonus} + ${bonus} reactive bonus)` : ''
  return `ANNOUNCE — Iteration ${shownIteration(budget)}/${max}${granted}${wrapUp ? ' — wrap-up' : ''}`
}

export function budgetSection(budget: IterationBudget): Section {
  const { max, bonus = 0, elapsedSeconds } = budget
  const current = shownIteration(budget)
  const granted = bonus > 0 ? `  (base ${max - bonus} + ${bonus} bonus from live reactive events)` : ''
  return `[BUDGET]
  iterations  ${bar(current, max)}  ${max - current} remaining${granted}
  time_elapsed_in_turn   ${duration(elapsedSeconds)}`
}

const shownIteration = ({ iteration, max }: IterationBudget) => Math.max(0, Math.min(iteration + 1, max))

const bars = Array.from({ length: 11 }, (_, filled) => '█'.repeat(filled) + '░'.repeat(10 - filled))
const bar = (used: number, max: number) => bars[max <= 0 ? 10 : Math.floor((10 * used) / max + 0.5)] as string // never more than all is used

/** `42s`, `3m07s`, `2h05m`. */
function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const padded = (n: number) => String(n).padStart(2, '0')
  if (whole < 60) return `${whole}s`
  if (whole < 3600) return `${Math.floor(whole / 60)}m${padded(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${padded(Math.floor((whole % 3600) / 60))}m`
}
