import { createMemoryBlobs } from '../../../src/adapters/blobs/memory.ts'
import { modelFrom, type NamedModelOptions } from '../../../src/adapters/model/index.ts'
import { createMemoryStore } from '../../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import type { Dialect } from '../../../src/core/model-event.ts'
import { type FakeProviderName, startFakeProvider } from '../../../src/testing/fake-providers/fake-provider.ts'
import type { FakeRequest } from '../../../src/testing/fake-providers/provider-format.ts'
import { createFixedClock } from '../../../src/testing/fixed-clock.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Upload } from '../../../src/tools/attachments/upload.ts'
import { weather } from '../scenario-tools.ts'
import { imageBytes, modelNames, pdfBytes } from './provider-models.ts'

const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Rome"}</channel:output>'
const rome = reply.call('weather.today', { city: 'Rome' })

/**
 * The replies for three turns: an image and a tool, a PDF and two tools, a question. The first call asks for a title. All others are
 * decisions.
 */
const script = [
  title,
  rome,
  reply.answer('Clear.'),
  rome,
  reply.call('weather.today', { city: 'Oslo' }),
  reply.answer('Read.'),
  rome,
  reply.answer('Bye.'),
]

const callOf = (city: string) => ({ name: 'weather__today', input: { city } })

/** The same replies in the dialect `native`. */
const nativeScript = [
  title,
  { reasoning: 'Hm.', text: 'I look.', calls: [callOf('Rome')] },
  'Clear.',
  { calls: [callOf('Rome')] },
  { calls: [callOf('Oslo')], chunks: 4 },
  'Read.',
  { calls: [callOf('Rome')] },
  'Bye.',
]

/** Runs the conversation with a real agent on a fake provider, and returns the requests that the provider got. */
export async function runConversation(
  name: FakeProviderName,
  options: NamedModelOptions = {},
  model = modelNames[name],
  dialect: Dialect = 'channels',
) {
  const clock = createFixedClock()
  const provider = await startFakeProvider(name, dialect === 'native' ? nativeScript : script, {
    now: () => Date.parse(clock.now()),
    minimumTokens: 0,
  })
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const agent = createAgentFrom({
    model: modelFrom(model, { images: true, documents: name !== 'compatible', environment: provider.environment, ...options }),
    store,
    clock,
    tools: [weather()],
    settings: { dialect },
  })
  const send = (input: string, attachments: readonly Upload[] = []) => agent.run('c1', input, { attachments }).result
  try {
    await send('What is this?', [{ name: 'photo.png', content: imageBytes }])
    await send('And this?', [{ name: 'paper.pdf', content: pdfBytes }])
    const last = await send('Thank you.')
    const decisions: readonly FakeRequest[] = provider.requests.slice(1)
    const usages: unknown[] = []
    for await (const { change } of store.readJournal('c1', { after: 0 })) if (change.type === 'response.received') usages.push(change.usage)
    return { decisions, last, usages: usages.slice(1), left: provider.left }
  } finally {
    await agent.close()
    await provider.close()
  }
}
