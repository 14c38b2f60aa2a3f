import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { nativeNames } from '../../src/core/decision/native-names.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { catalogText } from '../../src/tools/catalog.ts'
import { defineTool } from '../../src/tools/define.ts'

const long = `mcp.files.${'a-long-name.'.repeat(8)}read`

const nativeName = (id: string) => nativeNames([id]).get(id) ?? ''

const toolWith = (id: string, ran: string[]) =>
  defineTool({
    id,
    description: 'Reads a file.',
    params: z.object({ path: z.string() }),
    run({ path }) {
      ran.push(`${id} ${path}`)
      return `the content of ${path}`
    },
  })

describe('an id with several dots', () => {
  it.each(['mcp.files.read', 'mcp.files.v1.read-all', 'mcp.files.2nd', long])('%s can be called in both dialects', async (id) => {
    for (const dialect of ['channels', 'native'] as const) {
      const ran: string[] = []
      const call = dialect === 'native' ? reply.native.call(nativeName(id), { path: 'a.txt' }) : reply.call(id, { path: 'a.txt' })
      const answer = dialect === 'native' ? reply.native.answer('Done.') : reply.answer('Done.')
      const model = scriptedModel([call, answer], { dialect })
      const harness = createHarness({ replies: [], model, tools: [toolWith(id, ran)], settings: { dialect } })
      expect(await harness.say('Read a.txt')).toMatchObject({ answer: 'Done.' })
      expect(ran).toEqual([`${id} a.txt`])
      expect(
        model.requests
          .at(-1)
          ?.parts.map((part) => ('text' in part ? part.text : ''))
          .join('\n'),
      ).toContain('the content of a.txt')
    }
  })

  it('fits the patterns of approvals: mcp.files.* means all tools of one server', async () => {
    const ran: string[] = []
    const tools = [toolWith('mcp.files.read', ran), toolWith('mcp.filesystem.read', ran)]
    const replies = [reply.call('mcp.files.read', { path: 'a' }), reply.call('mcp.filesystem.read', { path: 'b' }), reply.answer('Done.')]
    const harness = createHarness({ replies, tools, approve: { 'mcp.files.*': 'deny' } })
    await harness.say('Read both')
    expect(ran).toEqual(['mcp.filesystem.read b'])
  })

  it('names the server as its scope in the list of tools', () => {
    expect(catalogText([toolWith('mcp.files.v1.read', []), toolWith('shop.find', [])])).toMatch(/scope: mcp\.files \|.*scope: shop \|/s)
  })
})
