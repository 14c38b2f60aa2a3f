import { describe, expect, it } from 'vitest'
import type { StatusEvent } from '../../src/core/event.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { isRunning, mcpHarness, promptOf, scriptedServer } from './servers.ts'

const callAndAnswer = (name: string, params = {}) => [reply.call(`mcp.demo.${name}`, params), reply.answer('Done.')]

describe('tools of an MCP server', () => {
  it('are listed in the system text and can be called', async () => {
    const { program } = scriptedServer()
    const harness = mcpHarness({ demo: program }, { replies: callAndAnswer('echo', { text: 'hello' }) })
    expect(await harness.say('Say hello')).toMatchObject({ answer: 'Done.' })
    const { system } = harness.model.requests.at(-1) ?? {}
    expect(system).toContain('mcp.demo.echo')
    expect(system).toContain('text: string — What to repeat.')
    expect(promptOf(harness)).toContain('You said: hello')
  })

  it('can be called in the dialect native', async () => {
    const { program } = scriptedServer()
    const model = scriptedModel([reply.native.call('mcp__demo__echo', { text: 'hello' }), reply.native.answer('Done.')], {
      dialect: 'native',
    })
    const harness = mcpHarness({ demo: program }, { replies: [], model })
    expect(await harness.say('Say hello')).toMatchObject({ answer: 'Done.' })
    expect(model.requests.at(-1)?.tools?.map(({ name }) => name)).toContain('mcp__demo__echo')
    expect(promptOf(harness)).toContain('You said: hello')
  })

  it('return structured content as their output, and errors as failed calls', async () => {
    const { program } = scriptedServer()
    const replies = [reply.call('mcp.demo.structured', {}), reply.call('mcp.demo.fail', {}), reply.answer('Done.')]
    const harness = mcpHarness({ demo: program }, { replies })
    await harness.say('Try both')
    expect(promptOf(harness)).toContain('"degrees":21')
    expect(promptOf(harness)).toMatch(/mcp_error.*No such city\./s)
  })

  it('return images and resources as files of the turn', async () => {
    const { program } = scriptedServer()
    const replies = [reply.call('mcp.demo.image', {}), reply.call('mcp.demo.files', {}), reply.answer('Done.')]
    const harness = mcpHarness({ demo: program }, { replies })
    const { files } = await harness.say('Show them')
    expect(files?.map(({ mime, size }) => [mime, size])).toEqual([
      ['image/png', 70],
      ['application/octet-stream', 2],
    ])
    expect(promptOf(harness)).toContain('[resource: demo://note]\nthe note')
    expect(promptOf(harness)).toContain('[resource: demo://more — more — More of it]')
  })

  it('are cancelled on the server when the user stops the turn', async () => {
    const { program, events } = scriptedServer()
    const harness = mcpHarness({ demo: program }, { replies: callAndAnswer('slow') })
    const turn = harness.say('Wait')
    await expect.poll(events).toContain('slow')
    await harness.agent.stop('c1')
    await turn
    await expect.poll(events).toContain('cancelled')
  })

  it('are cancelled on the server when the user steers, and when the time of the call is over', async () => {
    const { program, events } = scriptedServer('good', { timeoutSeconds: 1 })
    const replies = [reply.call('mcp.demo.slow', {}), reply.call('mcp.demo.slow', {}), reply.answer('Done.')]
    const harness = mcpHarness({ demo: program }, { replies })
    const turn = harness.say('Wait')
    await expect.poll(events).toContain('slow')
    await harness.agent.steer('c1', 'Try again')
    expect(await turn).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('it did not answer within 1 s')
    await expect.poll(() => events().filter((event) => event === 'cancelled')).toHaveLength(2)
  })

  it('show their progress while they run, and a client that joins later gets the last line of it', async () => {
    const { program } = scriptedServer()
    const harness = mcpHarness({ demo: program }, { replies: callAndAnswer('slow') })
    const turn = harness.agent.run('c1', 'Wait')
    const lines: StatusEvent[] = []
    for await (const event of turn) {
      if (event.type !== 'status' || event.status !== 'tool.progress') continue
      lines.push(event)
      const live: (string | undefined)[] = []
      for await (const late of harness.agent.follow('c1')) {
        if (late.type === 'status') live.push(late.text)
        if (late.type === 'status' && late.status === 'tool.progress') break
      }
      expect(live).toContain('one of three')
      void harness.agent.stop('c1')
    }
    expect(lines).toMatchObject([{ tool_id: 'mcp.demo.slow', text: 'one of three', call_id: expect.any(String) }])
    expect(JSON.stringify(await harness.journal())).not.toContain('one of three')
  })

  it('can flood progress, and only few lines of it are shown', async () => {
    const { program } = scriptedServer('floodprogress')
    const harness = mcpHarness({ demo: program }, { replies: callAndAnswer('misbehave') })
    const turn = harness.agent.run('c1', 'Flood')
    const lines: StatusEvent[] = []
    for await (const event of turn) if (event.type === 'status' && event.status === 'tool.progress') lines.push(event)
    expect(await turn.result).toMatchObject({ answer: 'Done.' })
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThan(60) // at most one line for each second
    for (const { text = '' } of lines) expect(text).toMatch(/^\S.{0,199}$/)
    expect(promptOf(harness)).toContain('survived floodprogress')
  })

  it('are not called with the environment of the agent', async () => {
    process.env.DAYBOOK_TEST_SECRET = 'secret'
    const { program } = scriptedServer('good', { env: { GIVEN: '1' } })
    const harness = mcpHarness({ demo: program }, { replies: callAndAnswer('environment') })
    await harness.say('Which?')
    delete process.env.DAYBOOK_TEST_SECRET
    expect(promptOf(harness)).toContain('GIVEN')
    expect(promptOf(harness)).not.toContain('DAYBOOK_TEST_SECRET')
  })

  it('are only those that the configuration allows', async () => {
    const { program } = scriptedServer('good', { tools: ['ec*', 'fail'] })
    const harness = mcpHarness({ demo: program }, { replies: [reply.answer('Done.')] })
    await harness.say('Hello')
    const { system = '' } = harness.model.requests.at(-1) ?? {}
    expect(system.match(/mcp\.demo\.\w+\(/g)).toEqual(['mcp.demo.echo(', 'mcp.demo.fail('])
  })
})

describe('tools that the configuration does not allow', () => {
  it('tools 18.115: can not be called, and the server gets no call', async () => {
    const { program, events } = scriptedServer('good', { tools: ['fail'] })
    const harness = mcpHarness({ demo: program }, { replies: callAndAnswer('echo', { text: 'x' }) })
    expect(await harness.say('Try')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('unknown_tool_id')
    expect(events().filter((event) => event.startsWith('call'))).toEqual([])
  })
})

describe('the process of a server', () => {
  it('is started by the first turn, is shared by conversations, and ends with the servers', async () => {
    const { program, pids, events } = scriptedServer()
    const replies = [reply.answer('One.'), ...callAndAnswer('echo', { text: 'a' })]
    const harness = mcpHarness({ demo: program }, { replies })
    expect(pids()).toEqual([])
    await harness.say('Hello')
    await harness.agent.run('c2', 'Hello').result
    expect(pids()).toHaveLength(1)
    await harness.servers.close()
    expect(pids().filter(isRunning)).toEqual([])
    expect(events()).toContain('end')
  })
})
