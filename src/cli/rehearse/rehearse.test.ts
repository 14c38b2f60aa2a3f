import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const source = (name: string) => pathToFileURL(join(import.meta.dirname, '../..', name)).href

/** Writes a module with an agent that has one tool, whose calls wait for an approval. */
function writeAgent(file: string, { instructions = 'You play.', params = 'times: z.number()' } = {}): string {
  const module = `
import { defineAgent } from '${source('wiring/define-agent.ts')}'
import { defineTool } from '${source('tools/define.ts')}'
import { reply, scriptedModel } from '${source('testing/scripted-model.ts')}'
import { z } from 'zod'
const dice = defineTool({ id: 'game.dice', description: 'Dice.', params: z.object({ ${params} }), approval: true, run: () => 7 })
const decide = ({ parts }) => (JSON.stringify(parts).includes('Throw!') ? reply.call('game.dice', { times: 2 }) : reply.answer('Hello.'))
export default defineAgent({
  model: scriptedModel([decide, decide], { name: 'anthropic/claude-sonnet-5-5' }),
  tools: [dice],
  instructions: '${instructions}',
})
`
  writeFileSync(join(line.folder, file), module)
  return `./${file}`
}

/** Records two conversations. The first has an answer. In the second, a call waits for an approval. */
async function recordTwo(): Promise<string> {
  const agent = writeAgent('agent.mjs')
  await line.run('run', 'Hello!', '--conversation', 'greeting', '--agent', agent)
  await line.run('run', 'Throw!', '--conversation', 'game', '--agent', agent)
  return agent
}

it('the agent that recorded the conversations changes nothing: exit code 0', async () => {
  const agent = await recordTwo()
  expect(await line.run('rehearse', '--agent', agent)).toMatchObject({ exitCode: 0, output: '2 conversations: nothing changes\n' })
})

it('with other instructions, it names the affected conversations and what the lost cache costs', async () => {
  await recordTwo()
  const { exitCode, output } = await line.run('rehearse', '--agent', writeAgent('next.mjs', { instructions: 'You play fair.' }))
  expect(exitCode).toBe(1)
  expect(output).toMatch(
    /^game \(open turn\), [\d,]+ cached tokens lost\n {4}next prompt: round 0, entry \d+: the prompt differs in the system text/m,
  )
  expect(output).toMatch(/^2 next prompts have other bytes than before: [\d,]+ cached tokens lost at \S+, \$0\.\d{6}$/m)
  expect((await line.run('rehearse', '--any-system', '--agent', './next.mjs')).exitCode).toBe(0)
})

it('prints JSON, of open turns only, with the approvals that no longer fit', async () => {
  await recordTwo()
  const agent = writeAgent('next.mjs', { params: 'times: z.number().max(1)' })
  const { exitCode, output } = await line.run('rehearse', '--agent', agent, '--open', '--any-system', '--json')
  const lines = output
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as unknown)
  expect(exitCode).toBe(1)
  expect(lines).toMatchObject([
    { type: 'conversation', conversationId: 'game', open: true, unfitWaits: [{ toolId: 'game.dice' }] },
    { type: 'sums', conversations: 1, unfitWaits: 1, otherPrompts: 0 },
  ])
})

it('a cache that has expired at the time of the deployment costs nothing', async () => {
  await recordTwo()
  const agent = writeAgent('next.mjs', { instructions: 'You play fair.' })
  const { output } = await line.run('rehearse', '--agent', agent, '--at', '2999-01-01T00:00:00Z', '--json')
  expect(JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ otherPrompts: 2, lostTokens: 0, lostMoney: 0 })
})

it('an empty folder, a wrong time and a server get clear answers', async () => {
  expect((await line.run('rehearse')).text).toBe('0 conversations: nothing changes')
  expect(await line.run('rehearse', '--at', 'soon')).toMatchObject({
    exitCode: 2,
    errors: expect.stringContaining('must be a time such as'),
  })
  expect((await line.run('rehearse', '--server', 'http://127.0.0.1:1')).errors).toContain('without --server')
})
