// A server process for the HTTP measurements. With `of: 'daybook'`, it serves an agent of Daybook. With `of: 'floor'`, it serves a minimal
// program without Daybook: a loop that calls the model and the tool, and stores each message in a table. The process sends `{ url }` to its
// parent. It answers each message of its parent with the processor time that it has used.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createAgent, openStore } from 'daybook'
import { createMetrics, defaultServerSettings, metricsHelp, noLog, serve } from 'daybook/server'
import { argumentsOf } from './measured.ts'
import { addTool, handWritten, type Message, settings, steadyModel } from './steady-model.ts'

const { of, folder, paceMs } = argumentsOf<{ of: 'daybook' | 'floor'; folder: string; paceMs?: number }>()
const model = steadyModel({ rounds: 2, ...(paceMs !== undefined && { paceMs }) })

async function startDaybook(): Promise<string> {
  const store = await openStore({ data: join(folder, 'data') })
  const agent = createAgent({ model, tools: [addTool], settings, store })
  const noLimits = { requestsPerMinute: 1e9, turnsPerMinute: 1e9, runningTurns: 1e6, followersPerUser: 1e6, workConversations: 1_000 }
  const parts = { log: noLog, metrics: createMetrics(metricsHelp), now: () => new Date().toISOString(), newId: () => crypto.randomUUID() }
  const { url } = await serve({ agent, settings: { ...defaultServerSettings, ...noLimits, port: 0 }, ...parts })
  return url
}

/** Starts the server without Daybook. Each POST runs one turn and gets the stream of its events. Each message becomes a row in SQLite. */
async function startFloor(): Promise<string> {
  const database = new DatabaseSync(join(folder, 'floor.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE messages (id INTEGER PRIMARY KEY, key TEXT, body TEXT)')
  const insert = database.prepare('INSERT INTO messages (key, body) VALUES (?, ?)')
  const server = createServer(async (request, response) => {
    const key = request.url ?? ''
    let body = ''
    for await (const chunk of request) body += chunk
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const messages: Message[] = [{ role: 'user', text: JSON.parse(body).text }]
    insert.run(key, JSON.stringify(messages[0]))
    for await (const event of handWritten(model, key, messages)) {
      if (typeof event !== 'string') insert.run(key, JSON.stringify(event))
      response.write(`data: ${JSON.stringify(event)}\n\n`)
    }
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const url = await (of === 'floor' ? startFloor() : startDaybook())
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMs: (user + system) / 1_000 })
})
process.once('disconnect', () => process.exit(0))
process.send?.({ url })
