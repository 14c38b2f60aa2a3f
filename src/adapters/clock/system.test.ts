import { expect, it } from 'vitest'
import { createSystemClock } from './system.ts'

it('returns the time in UTC with milliseconds, and as many random hex digits as requested', () => {
  const clock = createSystemClock()
  expect(clock.now()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  for (const digits of [0, 1, 6, 12, 33]) expect(clock.randomHex(digits)).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`))
  expect(clock.randomHex(32)).not.toBe(clock.randomHex(32))
})
