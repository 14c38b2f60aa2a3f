import { createAgent, defineTool } from 'daybook'
import { readDigest, readToolCall } from 'daybook/core'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'

const weather = defineTool({
  id: 'weather.today',
  description: 'The weather in a city.',
  params: z.object({ city: z.string().describe('which city') }),
  repeatable: true, // the tool changes nothing, so it may run again after a crash
  run: ({ city }) => ({ ok: true, ret: { city, sky: 'clear', degrees: 21 } }),
})

const model = scriptedModel([
  reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' }),
  reply.answer('It is clear in Rome, 21 degrees.', { followups: ['And tomorrow?'] }),
])

const agent = createAgent({ model, tools: [weather] })
const turn = agent.run('rome', 'How is the weather in Rome?')

for await (const event of turn) {
  if (event.type !== 'entry' || event.change.type !== 'blocks.appended') continue
  for (const block of event.change.blocks) {
    if (readDigest(block)) continue // leaves out the block with the metadata of the result
    const call = readToolCall(block)
    console.log(block.type.padEnd(26), call ? JSON.stringify(call.params) : block.text)
  }
}
