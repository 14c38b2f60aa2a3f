import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { modelFrom } from '../../src/adapters/model/index.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { type FakeProviderName, startFakeProvider } from '../../src/testing/fake-providers/fake-provider.ts'
import type { FakeRequest } from '../../src/testing/fake-providers/provider-format.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { everyProvider, imageBytes, modelNames, pdfBytes } from '../support/models/provider-models.ts'
import { weather } from '../support/scenario-tools.ts'

const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Rome"}</channel:output>'
const rome = reply.call('weather.today', { city: 'Rome' })

/** A reply that hides the latest result that the request contains. */
const hideLatest = ({ raw }: FakeRequest) => {
  const path = [...raw.matchAll(/tc:[\w.-]+\.result/g)].at(-1)?.[0] ?? ''
  return reply.call('react.hide', { path, replacement_text: 'The weather of Rome: clear.' })
}

/** One turn in which the user sends a followup with an image and a PDF, and the model hides a result. */
async function runTurn(name: FakeProviderName) {
  const clock = createFixedClock()
  const script = [title, rome, rome, rome, rome, rome, rome, hideLatest, rome, reply.answer('Clear.')]
  const provider = await startFakeProvider(name, script, { now: () => Date.parse(clock.now()), minimumTokens: 0 })
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  let called = 0
  const agent = createAgentFrom({
    model: modelFrom(modelNames[name], { images: true, documents: name !== 'compatible', environment: provider.environment }),
    store,
    clock,
    tools: [
      {
        ...weather(),
        run: async () => {
          called++
          const attachments = [
            { name: 'photo.png', content: imageBytes },
            { name: 'paper.pdf', content: pdfBytes },
          ]
          if (called === 2) await agent.send('c1', 'And this?', { attachments })
          return { ok: true, output: `clear ${called}` }
        },
      },
    ],
  })
  try {
    const { answer } = await agent.run('c1', 'What is this?').result
    return { answer, requests: provider.requests.slice(1) }
  } finally {
    await agent.close()
    await provider.close()
  }
}

const marksIn = (raw: string) => (raw.match(/"(?:cache_control|prompt_cache_breakpoint)":/g) ?? []).length

/** The bytes of the request from the first turn up to the tail, without marks. */
const beginning = ({ raw }: FakeRequest) => {
  const bare = raw.replace(/,"(?:cache_control|prompt_cache_breakpoint)":\{[^}]*\}/g, '')
  const from = bare.indexOf('[TURN ')
  const sources = bare.indexOf('━━━', from)
  const announce = bare.indexOf('╔', from)
  return bare.slice(from, Math.min(...[sources, announce].filter((at) => at !== -1)))
}

/** The length of the common beginning of two texts. */
const shared = (one: string, other: string) => {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

describe.each(everyProvider)('a turn with a followup, an image, a PDF and a hide, as %s gets it', (name) => {
  it('only grows, except after the hide, and never has more than four marks', async () => {
    const { answer, requests } = await runTurn(name)
    expect(answer).toBe('Clear.')
    expect(requests).toHaveLength(9)
    expect(requests.some(({ raw }) => raw.includes('photo.png'))).toBe(true)
    for (const { raw } of requests) expect(marksIn(raw)).toBeLessThanOrEqual(4)
    const sent = requests.map(beginning)
    const edited = sent.flatMap((before, index) => {
      const next = sent[index + 1]
      const kept = next === undefined ? before.length : shared(before, next)
      return kept >= before.lastIndexOf('"}') - 1 ? [] : [{ index, lost: before.slice(kept) }]
    })
    expect(edited.map(({ index }) => index)).toEqual([6]) // the request after the hide
    expect(edited[0]?.lost).toContain('clear 6') // the changed part contains the hidden result, and no earlier result
    expect(edited[0]?.lost).not.toContain('clear 5')
  })
})
