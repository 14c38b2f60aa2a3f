// The names that blocks of the documents use without an import, and that their page explains in words. test/docs-code.test.ts declares
// their types.

import { createAgent, defineTool } from 'daybook'
import { createPdfReader } from 'daybook/adapters/documents'
import { prices } from 'daybook/models'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'
import { weather } from './weather.ts'

const sendMail = defineTool({
  id: 'mail.send',
  description: 'Sends a mail.',
  params: z.object({ to: z.string(), text: z.string() }),
  approval: true,
  run: () => ({ status: 'sent' }),
})
const answers = Array.from({ length: 20 }, () => reply.answer('Done.'))

Object.assign(globalThis, {
  createAgent,
  weather,
  sendMail,
  documents: createPdfReader(),
  openOrders: () => 3,
  apiKey: 'a-key-that-is-not-used',
  conversationId: 'first',
  text: 'Hello.',
  eventId: 'event-1',
  myRow: prices[0],
})
// Each block has its own model, because a model gives its replies once.
Object.defineProperty(globalThis, 'model', {
  get: () => scriptedModel([reply.call('mail.send', { to: 'ann@client.example', text: 'Hello' }), ...answers]),
})
Object.defineProperty(globalThis, 'agent', {
  get: () => {
    agent ??= createAgent({ model: scriptedModel(answers), settings: { priceOf: () => 0.002 } })
    return agent
  },
})
let agent: ReturnType<typeof createAgent> | undefined
