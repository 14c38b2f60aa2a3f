import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { startDaybook } from './host-process.ts'
import { scriptedServer } from './servers.ts'

/** A server in a process of its own, with the offline model, whose turn has reached a question of an MCP server. */
async function serverWithQuestion() {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-mcp-'))
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { demo: scriptedServer().program } }))
  const data = join(folder, 'data')
  const environment = { DAYBOOK_MCP: file, DAYBOOK_MODEL: 'offline' }
  const server = startDaybook(['serve', '--port', '0', '--data', data], environment)
  const url = (await server.until(/^daybook is at http/)).split(' ').at(-1) ?? ''
  const client = createClient({ baseUrl: url })
  await client.conversations.create({ id: 'c1' })
  await client.send('c1', 'mcp.demo.ask {"times": 1}')
  const waits = async () => {
    const listed = await fetch(`${url}/v1/conversations/c1/waiting`)
    return ((await listed.json()) as { waits: { kind: string; call_id: string; question: string; schema: object }[] }).waits
  }
  await expect.poll(async () => (await waits())[0]?.kind, { timeout: 30_000 }).toBe('elicitation')
  const result = async () => {
    const { blocks } = (await (await fetch(`${url}/v1/conversations/c1/timeline`)).json()) as { blocks: { text?: string }[] }
    return blocks.map(({ text = '' }) => text).join('\n')
  }
  return { url, client, data, environment, wait: (await waits())[0], waits, result }
}

describe('a question of an MCP server while a server process runs the turn', () => {
  it('is answered over HTTP', async () => {
    const { url, wait, waits, result } = await serverWithQuestion()
    expect(wait).toMatchObject({ question: 'Which city, number 1?', schema: { required: ['city'] } })
    const decide = (body: object) =>
      fetch(`${url}/v1/conversations/c1/calls/${wait?.call_id}/decision`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const refused = await decide({ approved: true, params: { city: 7 } })
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('city')])
    expect((await decide({ approved: true, params: { city: 'Rome' } })).ok).toBe(true)
    await expect.poll(result, { timeout: 30_000 }).toContain('Answers: [{"action":"accept","content":{"city":"Rome"}}]')
    expect(await waits()).toEqual([])
  })

  it('is listed and answered by the command in another process', async () => {
    const { data, environment, waits, result } = await serverWithQuestion()
    const listing = startDaybook(['waiting', '--data', data], environment)
    await listing.ended
    expect(listing.lines.join('\n')).toContain('Which city, number 1?')
    const approve = startDaybook(['approve', 'c1', '--params', '{"city":"Bern"}', '--data', data], environment)
    expect(await approve.ended).toBe(0)
    await expect.poll(result, { timeout: 30_000 }).toContain('Answers: [{"action":"accept","content":{"city":"Bern"}}]')
    expect(await waits()).toEqual([])
  })
})
