// The package `daybook/adapters/clock`: the time and the randomness of the system.

export type { Clock } from '../../ports/clock.ts'
export { createSystemClock } from './system.ts'
