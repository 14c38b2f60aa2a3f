import { deepEqual } from 'node:assert'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseModelEvent, parseModelUsage } from './model-event.ts'
import { parseChange } from './timeline/parse-change.ts'

const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true })
const fieldsOf = (...names: readonly string[]) => fc.record(Object.fromEntries(names.map((name) => [name, anything])), { requiredKeys: [] })

const response = { type: 'response.received', turn_id: 't', ts: 't', iteration: 0, call_id: 'c', raw: '' }

it('a finish with any fields is a finish that can be journaled', () => {
  fc.assert(
    fc.property(fieldsOf('finishReason', 'modelName', 'usage', 'providerMessageId', 'other'), (fields) => {
      const event = parseModelEvent({ ...fields, type: 'finish' }, 'm')
      if (event?.type !== 'finish') throw new Error('the event was lost')
      deepEqual(JSON.parse(JSON.stringify(event)), event) // `deepEqual` ignores the sign of -0, which JSON loses
      parseChange({ ...response, finish_reason: event.finishReason, prompt: { model: event.modelName } })
    }),
  )
})

it('an error with any fields is an error that can be journaled', () => {
  const names = ['kind', 'service_name', 'provider', 'model_name', 'error_type', 'message', 'stage', 'http_status', 'code', 'retryable']
  const errors = fc.oneof(anything, fieldsOf(...names, 'retry_after_seconds', 'context'))
  fc.assert(
    fc.property(errors, (error) => {
      const event = parseModelEvent({ type: 'error', error }, 'm')
      if (event?.type !== 'error') throw new Error('the event was lost')
      deepEqual(JSON.parse(JSON.stringify(event)), event) // `deepEqual` ignores the sign of -0, which JSON loses
      expect(event.error).toMatchObject({ kind: expect.any(String), message: expect.any(String), retryable: expect.any(Boolean) })
    }),
  )
})

it('any other value has no effect and does not throw', () => {
  fc.assert(
    fc.property(fc.oneof(anything, fieldsOf('type', 'text')), (value) => {
      const event = parseModelEvent(value, 'm')
      if (event !== undefined) expect(event).toMatchObject({ type: expect.stringMatching(/\.delta$|^finish$|^error$/) })
    }),
  )
})

it('valid usage is kept, and any wrong count loses all of it', () => {
  const count = fc.nat({ max: 1_000_000_000 })
  const names = ['uncached', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const
  const valid = fc.record({ uncached: count, cacheRead: count, cacheWrite: count, output: count, reasoning: count })
  const wrong = fc.oneof(
    fc.constant(null),
    fc.string(),
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 1_000_000_001),
    fc.bigInt(),
  )
  fc.assert(
    fc.property(valid, fc.constantFrom(...names), wrong, (usage, name, value) => {
      expect(parseModelUsage(usage)).toEqual(usage)
      expect(parseModelUsage({ ...usage, [name]: value })).toBeUndefined()
    }),
  )
})
