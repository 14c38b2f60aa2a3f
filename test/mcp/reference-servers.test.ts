import { mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { mcpHarness, promptOf } from './servers.ts'

const require = createRequire(import.meta.url)
const done = reply.answer('Done.')

/** The program of a server of the project that maintains the protocol. */
function referenceServer(name: string, ...args: readonly string[]) {
  const file = require.resolve(`@modelcontextprotocol/${name}/dist/index.js`)
  return { command: process.execPath, args: [file, ...args], startSeconds: 60 }
}

describe('the reference servers of the protocol', () => {
  it('server-everything: texts, images, structured content, errors and progress', async () => {
    const replies = [
      reply.call('mcp.all.echo', { message: 'hello' }),
      reply.call('mcp.all.get-sum', { a: 2, b: 3 }),
      reply.call('mcp.all.get-tiny-image', {}),
      reply.call('mcp.all.get-structured-content', { location: 'New York' }),
      reply.call('mcp.all.trigger-long-running-operation', { duration: 1, steps: 2 }),
      reply.call('mcp.all.get-sum', { a: 'two', b: 3 }),
      done,
    ]
    const harness = mcpHarness({ all: referenceServer('server-everything', 'stdio') }, { replies })
    const { answer, files } = await harness.say('Try all of it')
    expect(answer).toBe('Done.')
    const prompt = promptOf(harness)
    expect(prompt).toContain('Echo: hello')
    expect(prompt).toContain('The sum of 2 and 3 is 5')
    expect(prompt).toContain('"temperature"')
    expect(prompt).toContain('Long running operation completed')
    expect(prompt).toContain('the parameter "a" must be of type number')
    expect(files?.map(({ size }) => size)).toEqual([4_033])
  })

  it('server-filesystem: reads a file in the folder that it was given, and no other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'daybook-mcp-'))
    writeFileSync(join(folder, 'a.txt'), 'the content of a')
    const replies = [
      reply.call('mcp.files.read_text_file', { path: join(folder, 'a.txt') }),
      reply.call('mcp.files.read_text_file', { path: '/etc/hostname' }),
      done,
    ]
    const harness = mcpHarness({ files: referenceServer('server-filesystem', folder) }, { replies })
    expect(await harness.say('Read')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('the content of a')
    expect(promptOf(harness)).toMatch(/mcp_error.*Access denied/s)
  })
})
