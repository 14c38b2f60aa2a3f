import { mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createMcpServers, tokenPathIn } from '../../src/adapters/mcp/index.ts'
import { signIn } from '../../src/adapters/mcp/oauth/sign-in.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { protectedServer } from './protected-server.ts'
import { promptOf } from './servers.ts'

const tokenFolder = () => mkdtempSync(join(tmpdir(), 'daybook-mcp-'))

function serversWith(configuration: { url: string; oauth: true }, tokens: string) {
  const servers = createMcpServers({ demo: configuration }, { version: 'test', tokens, onProblem: () => {} })
  onTestFinished(() => servers.close())
  return servers
}

/** Signs in like a person: the browser follows the redirect. */
const visit = (configuration: { url: string; oauth: true }, tokens: string) =>
  signIn(configuration, tokenPathIn(tokens, 'demo', configuration.url), (address) => void fetch(address), new AbortController().signal)

const call = { server: 'demo', name: 'hello', params: {}, conversationId: 'c1', signal: new AbortController().signal }

describe('a server with OAuth', () => {
  it('is used after a person has signed in, and only the owner can read the tokens', async () => {
    const { configuration } = await protectedServer()
    const tokens = tokenFolder()
    await visit(configuration, tokens)
    const servers = serversWith(configuration, tokens)
    expect(await servers.call(call)).toMatchObject({ kind: 'result', result: { content: [{ text: 'Hello, signed in.' }] } })
    const files = readdirSync(tokens).filter((name) => statSync(join(tokens, name)).size > 0) // the file of the lock is empty
    expect(files).toHaveLength(1)
    expect(statSync(join(tokens, files[0] ?? '')).mode & 0o777).toBe(0o600)
  })

  it('that nobody has signed in to does not break a turn, and the prompt says what to do', async () => {
    const { configuration } = await protectedServer()
    const harness = createHarness({ mcp: serversWith(configuration, tokenFolder()), replies: [reply.answer('Done.')] })
    expect(await harness.say('Hello')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('a person has to sign in first: daybook mcp sign-in demo')
  })

  it('refreshes an expired token once, however many agents use it at the same time', async () => {
    const { configuration, state } = await protectedServer()
    const tokens = tokenFolder()
    await visit(configuration, tokens)
    const agents = Array.from({ length: 6 }, () => serversWith(configuration, tokens))
    for (const round of [1, 2, 3]) {
      state.access.clear()
      const answers = await Promise.all(agents.flatMap((servers) => [servers.call(call), servers.call(call)]))
      expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'result'))
      expect(state.refreshes).toBe(round)
    }
  })

  it('whose refresh token is refused asks for another sign-in', async () => {
    const { configuration, state } = await protectedServer()
    const tokens = tokenFolder()
    await visit(configuration, tokens)
    state.access.clear()
    state.refresh = 'revoked'
    expect(await serversWith(configuration, tokens).call(call)).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('sign in'),
    })
    await visit(configuration, tokens)
    expect(await serversWith(configuration, tokens).call(call)).toMatchObject({ kind: 'result' })
  })
})
