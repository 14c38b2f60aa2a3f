import { describe, expect, it } from 'vitest'
import { replay } from '../../src/agent/replay/replay.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { McpServers } from '../../src/ports/mcp.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { billingModel } from '../support/models/billing-model.ts'
import { mcpHarness, promptOf, scriptedServer } from './servers.ts'

/** Servers whose list of tools a test changes. */
function changingServers(names: readonly string[]) {
  let tools = names
  let isDown = false
  const states = () => [
    { server: 'demo', ...(isDown ? { problem: 'it ended' } : { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }) },
  ]
  const calls: string[] = []
  const servers: McpServers = {
    names: ['demo'],
    list: async () => states(),
    latest: states,
    async call({ name }) {
      calls.push(name)
      return { kind: 'result', result: { content: [{ type: 'text', text: `${name} ran` }] } }
    },
    close: async () => {},
  }
  return {
    servers,
    calls,
    set(changed: readonly string[]) {
      tools = changed
    },
    stop() {
      isDown = true
    },
  }
}

const frozenIn = (journal: readonly Change[]) =>
  journal.flatMap((change) => (change.type === 'turn.opened' || change.type === 'range.compacted' ? [change.frozen?.tools?.sha256] : []))
const systems = (model: { readonly requests: readonly { readonly system: string }[] }) =>
  model.requests.map(({ system }) => [...system.matchAll(/Usage: mcp\.demo\.(\w+)\(/g)].map(([, name]) => name).join(' '))
const done = reply.answer('Done.')

describe('the list of tools of a turn', () => {
  it('is stored with the turn, and stays the same while the cache of the provider is warm', async () => {
    const { servers, set } = changingServers(['one', 'two'])
    const harness = createHarness({ mcp: servers, replies: [done, done, done] })
    await harness.say('First')
    set(['two', 'three'])
    await harness.say('Second')
    expect(promptOf(harness)).toContain('These tools do not exist any more: mcp.demo.one.')
    expect(promptOf(harness)).toContain('There are new tools, which can be called in a later turn: mcp.demo.three.')
    harness.clock.advance(400_000)
    await harness.say('Third')
    expect(systems(harness.model).slice(-3)).toEqual(['one two', 'one two', 'three two'])
    const [first, second, third] = frozenIn(await harness.journal())
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
    expect(promptOf(harness)).not.toContain('[TOOLS OF SERVERS]')
  })

  it('has a tool that the server has removed, and a call of it is answered', async () => {
    const { servers, set, calls } = changingServers(['one', 'two'])
    const harness = createHarness({ mcp: servers, replies: [done, reply.call('mcp.demo.one', {}), reply.call('mcp.demo.two', {}), done] })
    await harness.say('First')
    set(['two'])
    await harness.say('Second')
    expect(calls).toEqual(['two'])
    expect(promptOf(harness)).toMatch(/tool_removed.*The MCP server demo does not have the tool one any more\. Nothing ran\./s)
  })

  it('does not have a tool that appeared in the turn: a call of it is refused', async () => {
    const { program } = scriptedServer()
    const replies = [reply.call('mcp.demo.change', { remove: 'echo' }), reply.call('mcp.demo.added', {}), done]
    const harness = mcpHarness({ demo: program }, { replies })
    await harness.say('Change')
    expect(promptOf(harness)).not.toContain('the new tool ran')
    await expect.poll(() => JSON.stringify(harness.servers.latest())).toContain('"added"')
    harness.clock.advance(400_000)
    const { model } = harness
    expect(systems(model).at(-1)).not.toContain('added')
  })

  it('is changed by a compaction', async () => {
    const { servers, set } = changingServers(['one', 'two'])
    let turn = 0
    const model = billingModel({
      window: 8_000,
      decide: () => reply.answer(`Answer ${turn}. ${'word and another '.repeat(60)}`),
      summary: '## Progress\nWe spoke.',
    })
    const harness = createHarness({ mcp: servers, replies: [], model: model as never })
    await harness.say('First')
    set(['three'])
    for (turn = 1; turn < 40; turn++) {
      await harness.say(`Question ${turn}`)
      if ((await harness.journal()).some(({ type }) => type === 'range.compacted')) break
    }
    const journal = await harness.journal()
    const compaction = journal.findLast(({ type }) => type === 'range.compacted')
    expect(compaction).toMatchObject({ frozen: { tools: { sha256: expect.any(String) } } })
    expect((await harness.timeline()).frozen?.tools?.sha256).toBe(frozenIn(journal).at(-1))
    expect(frozenIn(journal).at(-1)).not.toBe(frozenIn(journal)[0])
    const turns = await replay(harness.store, 'c1', { window: 8_000 })
    expect(turns.filter(({ divergence }) => divergence)).toEqual([])
  })

  it('is the same after a crash, even if the server has another one now, and the call is judged by it', async () => {
    const { servers, set } = changingServers(['one'])
    const before = createHarness({ mcp: servers, replies: [reply.call('mcp.demo.one', {})] })
    const failing = { ...servers, call: () => new Promise<never>(() => {}) }
    const dying = createHarness({
      mcp: failing,
      store: before.store,
      clock: before.clock,
      replies: [reply.call('mcp.demo.one', {})],
      settings: { stopGraceMs: 0 },
    })
    const turn = dying.agent.run('c1', 'First').result
    await expect
      .poll(async () =>
        (await dying.journal()).some(
          (change) => change.type === 'blocks.appended' && change.blocks.some(({ type }) => type === 'react.tool.call'),
        ),
      )
      .toBe(true)
    await dying.agent.close()
    await turn
    set(['other'])
    const after = createHarness({ mcp: servers, store: before.store, clock: before.clock, replies: [done] })
    await after.agent.recover()
    expect(systems(after.model)).toEqual(['one'])
    expect(promptOf(after)).toContain('outcome_unknown')
  })

  it('is used by a replay without any server', async () => {
    const { servers, set, stop } = changingServers(['one', 'two'])
    const harness = createHarness({
      mcp: servers,
      replies: [reply.call('mcp.demo.one', {}), done, done, reply.call('mcp.demo.three', {}), done],
    })
    await harness.say('First')
    set(['three'])
    await harness.say('Second')
    harness.clock.advance(400_000)
    await harness.say('Third')
    stop()
    const turns = await replay(harness.store, 'c1')
    expect(turns.map(({ rounds, divergence }) => ({ rounds, divergence }))).toEqual([
      { rounds: 2, divergence: undefined },
      { rounds: 1, divergence: undefined },
      { rounds: 2, divergence: undefined },
    ])
  })

  it('can be limited for one turn, also to tools of servers', async () => {
    const { servers, calls } = changingServers(['one', 'two'])
    const harness = createHarness({ mcp: servers, replies: [reply.call('mcp.demo.two', {}), reply.call('mcp.demo.one', {}), done] })
    await harness.agent.run('c1', 'First', { tools: ['mcp.demo.one'] }).result
    expect(calls).toEqual(['one'])
    await expect(harness.agent.run('c1', 'Second', { tools: ['mcp.other.one'] }).result).rejects.toThrow('must be the id of a tool')
  })

  it('is left out by an agent without servers', async () => {
    const harness = createHarness({ replies: [done], model: scriptedModel([done]) })
    await harness.say('First')
    expect(frozenIn(await harness.journal())).toEqual([undefined])
  })
})
