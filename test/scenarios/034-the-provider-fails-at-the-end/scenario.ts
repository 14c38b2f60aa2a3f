import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'
import { codesOf } from '../../support/watch-turn.ts'

const call = reply.call('weather.today', { city: 'Rome' })
const refused = { error: { kind: 'authentication', http_status: 401, retryable: false, message: 'invalid key' } } as const
const broken = {
  text: reply.answer('Rome is').slice(0, -30),
  error: { kind: 'connection', retryable: false, message: 'reset by peer' },
} as const

export default {
  title: 'a provider that fails in the final call, before or during its output, is recorded, and the user reads that the limit was reached',
  setup: () => ({ tools: [weather()], settings: { maxRounds: 1 }, replies: [call, refused, call, broken] }),
  run: async (harness) => {
    for (const input of ['How is Rome?', 'And now?']) {
      const { exitReason, answer, error } = await harness.say(input)
      expect([exitReason, error]).toEqual(['max_iterations', undefined])
      expect(answer).toMatch(/^I reached the step limit/)
    }
    expect(await codesOf(harness)).toEqual(['service_error', 'service_error'])
  },
} satisfies Scenario
