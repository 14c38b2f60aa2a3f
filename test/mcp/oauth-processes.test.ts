import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startDaybook, startHost } from './host-process.ts'
import { protectedServer } from './protected-server.ts'

/** Signs in with the command, like a person: another program opens the address that the command prints. */
async function signInWithCommand() {
  const { state, configuration } = await protectedServer()
  const folder = mkdtempSync(join(tmpdir(), 'daybook-mcp-'))
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { demo: configuration } }))
  const data = join(folder, 'data')
  const tokens = join(data, 'mcp')
  const command = startDaybook(['mcp', 'sign-in', 'demo', '--data', data], { DAYBOOK_MCP: file })
  const address = await command.until(/^http/)
  const page = await fetch(address)
  expect(await page.text()).toBe('You can close this page.')
  expect(await command.ended).toBe(0)
  return { state, tokens, configuration: { demo: configuration }, lines: command.lines, environment: { DAYBOOK_MCP: file }, data }
}

describe('processes that use a server with OAuth', () => {
  it('daybook mcp sign-in stores tokens that another process uses', async () => {
    const { state, tokens, configuration, lines, data, environment } = await signInWithCommand()
    expect(lines.at(-1)).toBe('You are signed in to demo.')
    expect(state.refusals).toEqual([])
    const host = await startHost(configuration, tokens)
    host.write('demo hello')
    expect(await host.until(/kind/)).toContain('Hello, signed in.')
    const doctor = startDaybook(['doctor', '--data', data], environment)
    expect(await doctor.until(/MCP servers/)).toContain('demo (1 tools)')
    expect(lines.join('\n')).not.toContain('access-1')
  })

  it('refresh an expired token once, and no process loses the refresh token', async () => {
    const { state, tokens, configuration } = await signInWithCommand()
    const hosts = await Promise.all([1, 2, 3].map(() => startHost(configuration, tokens)))
    for (const round of [1, 2, 3]) {
      state.access.clear()
      for (const host of hosts) for (const _ of [1, 2]) host.write('demo hello')
      for (const host of hosts) await host.until(/kind/, round * 2)
      expect(state.refreshes).toBe(round)
    }
    const answers = hosts.flatMap(({ lines }) => lines.slice(1))
    expect(answers.filter((answer) => !answer.includes('Hello, signed in.'))).toEqual([])
    const [file = ''] = readdirSync(tokens).filter((name) => name.endsWith('.json'))
    expect(readFileSync(join(tokens, file), 'utf8')).toContain(`"${state.refresh}"`)
  })

  it('do not wait for a process that was killed while it refreshed the token', async () => {
    const { state, tokens, configuration } = await signInWithCommand()
    const [dying, other] = await Promise.all([1, 2].map(() => startHost(configuration, tokens)))
    const asked = Promise.withResolvers<void>()
    state.access.clear()
    state.beforeRefresh = () => {
      asked.resolve()
      return new Promise(() => {})
    }
    dying?.write('demo hello')
    await asked.promise
    await dying?.kill()
    delete state.beforeRefresh
    other?.write('demo hello')
    expect(await other?.until(/kind/)).toContain('Hello, signed in.')
    expect(state.refreshes).toBe(2)
  })
})
