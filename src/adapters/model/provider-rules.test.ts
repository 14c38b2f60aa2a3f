import { expect, it } from 'vitest'
import { cacheRulesOf } from './provider-rules.ts'

it('cacheRulesOf gives the cache rules of a model by name, and undefined for providers that do not report cached tokens', () => {
  expect(cacheRulesOf('anthropic/claude-sonnet-4-5')).toEqual({
    kind: 'marks',
    minimumTokens: 1_024,
    lookBackParts: 20,
    ttlSeconds: 300,
    longTtlSeconds: 3_600,
    maxMarks: 4,
  })
  expect(cacheRulesOf('anthropic/claude-haiku-4-5-20251001')?.minimumTokens).toBe(4_096)
  expect(cacheRulesOf('openai/gpt-4o')).toMatchObject({ kind: 'prefix', minimumTokens: 1_024 })
  expect(cacheRulesOf('google/gemini-2.5-pro')).toMatchObject({ kind: 'prefix', minimumTokens: 2_048 })
  for (const name of ['ollama/qwen3', 'offline', 'toString/x', '/x', '']) expect(cacheRulesOf(name)).toBeUndefined()
})
