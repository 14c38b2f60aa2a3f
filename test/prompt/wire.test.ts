import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isObject, type Json } from '../../src/core/json.ts'
import type { FakeProviderName } from '../../src/testing/fake-providers/fake-provider.ts'
import { everyProvider } from '../support/models/provider-models.ts'
import { runConversation } from '../support/models/wire-conversation.ts'

const folder = join(import.meta.dirname, '../golden', 'wire')

const everyDialect = everyProvider.flatMap((name) => [[name, 'channels'] as const, [name, 'native'] as const])

describe.each(everyDialect)('three turns with an image and a PDF, as %s gets them in the dialect %s', (name, dialect) => {
  let running: ReturnType<typeof runConversation> | undefined
  const conversation = () => (running ??= runConversation(name, {}, undefined, dialect))

  it('all three turns complete', async () => {
    expect(await conversation()).toMatchObject({ last: { answer: 'Bye.', exitReason: 'complete' }, left: 0 })
    expect((await conversation()).decisions).toHaveLength(7)
  })

  it('the last request equals the golden file', async () => {
    const { decisions } = await conversation()
    compare(
      join(folder, dialect === 'native' ? `${name}-native.txt` : `${name}.txt`),
      `${JSON.stringify(shortened(JSON.parse(decisions.at(-1)?.raw ?? '')), null, 2)}\n`,
    )
  })

  it('a request has at most four marks, the last right before the tail, and none on the tail', async () => {
    for (const { raw } of (await conversation()).decisions) {
      const marks = marksIn(JSON.parse(raw) as Json)
      if (name === 'google' || name === 'compatible') expect(marks).toEqual([])
      else {
        expect(marks.length).toBeGreaterThanOrEqual(2)
        expect(marks.length).toBeLessThanOrEqual(4)
        const content = contentIn(name, JSON.parse(raw) as Json)
        expect(marksIn(content.slice(-2) as Json)).toEqual([]) // the last two parts are the tail: pool and announce
        expect(marksIn(content.at(-3) as Json)).toHaveLength(1)
      }
    }
  })

  it('the cached part of a request is the beginning of the next request, byte for byte', async () => {
    const { decisions } = await conversation()
    const sent = decisions.map(({ raw }) => unmarked(JSON.parse(raw) as Json))
    const before = sent.map((body) => JSON.stringify(contentIn(name, body).slice(0, -2)).slice(0, -1))
    for (const [index, beginning] of before.entries()) {
      const next = before[index + 1]
      if (next !== undefined) expect(next.slice(0, beginning.length)).toBe(beginning)
      expect(JSON.stringify(withoutContent(name, sent[index] as Json))).toBe(JSON.stringify(withoutContent(name, sent[0] as Json)))
    }
  })

  it('each call reads the part that the call before it wrote to the cache', async () => {
    const usages = (await conversation()).usages as readonly { cache_read: number; cache_write: number; uncached: number }[]
    for (const [index, usage] of usages.entries()) {
      const last = usages[index - 1]
      if (last === undefined) continue
      const known = name === 'google' || name === 'compatible' ? undefined : last.cache_read + last.cache_write
      if (known !== undefined) expect(usage.cache_read).toBe(known)
      // an automatic cache stores whole blocks of tokens, and never the tail
      else expect(usage.cache_read).toBeGreaterThan(0.8 * (last.cache_read + last.uncached) - 1_500)
    }
  })
})

it('an older OpenAI model gets no marks, but the cache key of the conversation', async () => {
  const { decisions } = await runConversation('openai', {}, 'openai/gpt-5.4')
  const bodies = decisions.map(({ raw }) => JSON.parse(raw) as { prompt_cache_key: string; prompt_cache_options?: unknown })
  expect(bodies.flatMap((body) => marksIn(body as Json))).toEqual([])
  expect(new Set(bodies.map(({ prompt_cache_key }) => prompt_cache_key)).size).toBe(1)
  expect(bodies[0]?.prompt_cache_key).toMatch(/^[0-9a-f]{32}$/)
  expect(bodies[0]?.prompt_cache_options).toBeUndefined()
})

it('with a cache of one hour every mark asks for one hour, and the usage reports these writes separately', async () => {
  const { decisions, usages } = await runConversation('anthropic', { cacheTtlSeconds: 3_600 })
  for (const { raw } of decisions) {
    for (const mark of marksIn(JSON.parse(raw) as Json)) expect(mark).toEqual({ type: 'ephemeral', ttl: '1h' })
  }
  const [first] = usages as readonly { cache_write: number; cache_write_long?: number }[]
  expect(first?.cache_write).toBeGreaterThan(0)
  expect(first?.cache_write_long).toBe(first?.cache_write)
})

const markNames = ['cache_control', 'prompt_cache_breakpoint']

function marksIn(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value.flatMap(marksIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => (markNames.includes(name) ? [inner as Json] : marksIn(inner as Json)))
}

function unmarked(value: Json): Json {
  if (Array.isArray(value)) return value.map(unmarked)
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([name]) => !markNames.includes(name))
  return Object.fromEntries(kept.map(([name, inner]) => [name, unmarked(inner as Json)]))
}

const paths: Readonly<Record<FakeProviderName, readonly string[]>> = {
  anthropic: ['messages', '0', 'content'],
  openai: ['input', '1', 'content'],
  google: ['contents', '0', 'parts'],
  compatible: ['messages', '1', 'content'],
}

function contentIn(name: FakeProviderName, body: Json): readonly Json[] {
  return paths[name].reduce((inner: unknown, key) => (inner as Record<string, unknown>)[key], body) as readonly Json[]
}

function withoutContent(name: FakeProviderName, body: Json): Json {
  const copy = structuredClone(body)
  ;(contentIn(name, copy) as Json[]).length = 0
  return copy
}

/** Shortens the system text, because other goldens contain it. */
function shortened(value: Json): Json {
  if (typeof value === 'string') return value.length > 2_500 ? `<${value.slice(0, 40)}…>` : value
  if (Array.isArray(value)) return value.map(shortened)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner as Json)])) : value
}

/** Compares a text with its golden file. `UPDATE_GOLDEN=1` accepts the current text. Check the difference first. */
function compare(file: string, actual: string): void {
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, actual)
  expect(actual).toBe(existsSync(file) ? readFileSync(file, 'utf8') : '(no such file: run with UPDATE_GOLDEN=1)')
}
