import { createAgent } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'

// A scripted model gives prepared answers. It needs no key and no network.
const model = scriptedModel([reply.answer('A daybook is the book of original entry: everything is written down once, as it happens.')])

const agent = createAgent({ model })
const turn = agent.run('first', 'What is a daybook?')

for await (const event of turn) {
  if (event.type === 'entry') console.log(event.seq, event.change.type) // a stored change
  if (event.type === 'lane.delta' && event.delta.marker === 'answer') console.log(event.delta.text) // a piece of the answer
}
console.log((await turn.result).exitReason)
