import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSkillFolders } from '../../src/adapters/skills/skill-folders.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { HarnessOptions } from '../../src/testing/harness.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { mcpHarness, promptOf, scriptedServer } from './servers.ts'

const done = reply.answer('Done.')

/** Skills that need tools. Each has the name of a folder, and the tools that it needs. */
function skillsNeeding(needs: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'daybook-skills-'))
  for (const [name, tools] of Object.entries(needs)) {
    mkdirSync(join(root, name))
    writeFileSync(join(root, name, 'SKILL.md'), `---\ndescription: About ${name}.\ntools: [${tools}]\n---\nThe text of ${name}.\n`)
  }
  return openSkillFolders([root])
}

const needs = {
  any: '"mcp.demo.*"',
  both: '"mcp.demo.echo", "mcp.other.read"',
  echo: 'mcp.demo.echo',
  free: '',
  lacking: 'mcp.demo.no_such_tool',
  unknown: '"mcp.nowhere.*"',
}

const harnessWith = (configuration: Parameters<typeof mcpHarness>[0], options: HarnessOptions) =>
  mcpHarness(configuration, { ...options, builtIn: { skills: skillsNeeding(needs) } })

const listed = (harness: ReturnType<typeof harnessWith>, index = -1) =>
  [...(harness.model.requests.at(index)?.system ?? '').matchAll(/\[SK(\d+)\] sk:public\.(\w+)/g)].map(([, n, name]) => `${n} ${name}`)

const replayed = async (harness: ReturnType<typeof harnessWith>) =>
  (await replay(harness.store, 'c1', { builtIn: { skills: skillsNeeding(needs) } })).map(({ divergence }) => divergence)

describe('a skill that needs tools of an MCP server', () => {
  it('is listed and read if the server has the tools, and not if it lacks one', async () => {
    const replies = [reply.call('react.read', { paths: ['sk:SK2', 'sk:lacking', 'sk:any'] }), done]
    const harness = harnessWith({ demo: scriptedServer().program }, { replies })
    await harness.say('Read them')
    expect(listed(harness)).toEqual(['1 any', '2 echo', '3 free'])
    expect(promptOf(harness)).toContain('The text of echo.')
    expect(promptOf(harness)).toContain('The text of any.')
    expect(promptOf(harness)).not.toContain('The text of lacking.')
    expect(await replayed(harness)).toEqual([undefined])
  })

  it('is the same in the dialect native', async () => {
    const model = scriptedModel([reply.native.answer('Done.')], { dialect: 'native' })
    const harness = harnessWith({ demo: scriptedServer().program }, { replies: [], model })
    await harness.say('Hello')
    expect(listed(harness)).toEqual(['1 any', '2 echo', '3 free'])
    expect(await replayed(harness)).toEqual([undefined])
  })

  it('is listed while the server has not answered, because it may have the tools', async () => {
    const silent = scriptedServer('starthang', { startSeconds: 1 }).program
    const replies = [reply.call('react.read', { paths: ['sk:SK3'] }), done]
    const harness = harnessWith({ demo: silent, other: scriptedServer().program }, { replies })
    await harness.say('Read one')
    expect(listed(harness)).toEqual(['1 any', '2 echo', '3 free', '4 lacking'])
    expect(promptOf(harness)).toContain('The text of free.')
    expect(await replayed(harness)).toEqual([undefined])
  })

  it('is not listed if the server has answered and has no tools', async () => {
    const harness = harnessWith({ demo: scriptedServer('empty').program }, { replies: [done] })
    await harness.say('Hello')
    expect(listed(harness)).toEqual(['1 free'])
    expect(await replayed(harness)).toEqual([undefined])
  })

  it('is listed by a later turn if the server has got the tool, and the list stays the same until then', async () => {
    const { program } = scriptedServer()
    const replies = [reply.call('mcp.demo.change', { remove: 'echo' }), done, reply.call('react.read', { paths: ['sk:SK2'] }), done, done]
    const harness = harnessWith({ demo: program }, { replies })
    await harness.say('Change')
    await expect.poll(() => JSON.stringify(harness.servers.latest())).toContain('"added"')
    await harness.say('Read')
    expect(listed(harness)).toEqual(['1 any', '2 echo', '3 free'])
    expect(promptOf(harness)).toContain('The text of echo.')
    harness.clock.advance(400_000)
    await harness.say('Later')
    expect(listed(harness)).toEqual(['1 any', '2 free'])
    expect(await replayed(harness)).toEqual([undefined, undefined, undefined])
  })
})
