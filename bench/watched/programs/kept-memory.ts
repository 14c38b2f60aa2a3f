// Measures how much memory a conversation still uses after a turn of 50 rounds, with a store in memory.
import { createAgent } from 'daybook'
import { argumentsOf, give, heapUsed, readAll } from './measured.ts'
import { addTool, handWritten, type Message, settings, steadyModel } from './steady-model.ts'

const [CONVERSATIONS, ROUNDS] = [200, 50]
const { of } = argumentsOf<{ of: 'daybook' | 'floor' }>()

const model = steadyModel({ rounds: ROUNDS })
const agent = createAgent({ model, tools: [addTool], settings })
const kept: Message[][] = []
const turnOf = {
  daybook: (id: string) => readAll(agent.run(id, 'Add up.')),
  floor: (id: string) => readAll(handWritten(model, id, keepMessages())),
}[of]

function keepMessages(): Message[] {
  const messages: Message[] = [{ role: 'user', text: 'Add up.' }]
  kept.push(messages)
  return messages
}

for (let n = 0; n < 100; n++) await turnOf(`first${n}`)
const before = heapUsed()
for (let n = 0; n < CONVERSATIONS; n++) await turnOf(`c${n}`)
const grown = heapUsed() - before
if (of === 'floor' && kept.length === 0) throw new Error('the loop kept nothing')
give({ kilobytes: grown / CONVERSATIONS / 1024 })
await agent.close()
