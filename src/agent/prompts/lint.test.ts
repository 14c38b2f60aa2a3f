import { expect, it } from 'vitest'
import { lintAgent } from './lint.ts'

it('finds the time of the start in instructions', async () => {
  const instructions = `You help. The session began at ${new Date().toISOString()}.`
  const findings = await lintAgent(() => ({ instructions }))
  expect(findings.map(({ rule, where }) => [rule, where])).toEqual([
    ['date in system text', 'instructions'],
    ['time in system text', 'instructions'],
  ])
})
