/**
 * A process with MCP servers, which a test can kill:
 *
 *   node host.ts <configuration as JSON> <folder for tokens>
 *
 * It answers each line `<server> <tool>` of its input with the kind of the answer and its content, and prints `ready` first.
 */
import { createInterface } from 'node:readline'
import { createMcpServers } from '../../../src/adapters/mcp/index.ts'

const [configuration = '{}', tokens = ''] = process.argv.slice(2)
const servers = createMcpServers(JSON.parse(configuration), { version: 'test', tokens, onProblem: () => {} })
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [server = '', name = ''] = line.split(' ')
  void servers
    .call({ server, name, params: { text: 'x' }, conversationId: 'c1', signal: new AbortController().signal })
    .then((answer) => console.log(JSON.stringify(answer)))
}
await servers.close()
