import { fileURLToPath } from 'node:url'
import { createAgent } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'

const model = scriptedModel([
  reply.call('mcp.tides.next_high_tide', { harbour: 'Bergen' }),
  reply.answer('The next high tide in Bergen is at 14:20.'),
])

const agent = createAgent({
  model,
  mcp: {
    tides: { command: process.execPath, args: [fileURLToPath(new URL('./mcp-server.ts', import.meta.url))] },
  },
})

const turn = agent.run('harbour', 'When is the next high tide in Bergen?')
for await (const event of turn) {
  if (event.type !== 'entry' || event.change.type !== 'blocks.appended') continue
  for (const { type, text } of event.change.blocks) if (type === 'react.tool.result' && text?.includes('14:20')) console.log('tool:', text)
}
console.log((await turn.result).answer)
await agent.close() // also ends the MCP server
