import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { importConfiguration, loadAgentModule } from './agent-module.ts'
import { createLoad } from './load-module.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const source = (name: string) => pathToFileURL(join(import.meta.dirname, '../..', name)).href

/** A module with an agent that has one tool, and a model that calls it and tells its result. */
const agentModule = (name: string, answer = 'It is a seven.') => `
import { defineAgent } from '${source('wiring/define-agent.ts')}'
import { defineTool } from '${source('tools/define.ts')}'
import { reply, scriptedModel } from '${source('testing/scripted-model.ts')}'
import { z } from 'zod'
const dice = defineTool({ id: 'game.dice', description: 'Dice.', params: z.object({}), run: () => ({ ok: true, ret: 7 }) })
${name} defineAgent({
  model: { decision: scriptedModel([reply.call('game.dice', {}), reply.answer('${answer}')]), gate: 'offline' },
  tools: [dice],
  instructions: 'You play.',
  settings: { maxRounds: 3 },
})
`
const write = (file: string, text: string) => writeFileSync(join(line.folder, file), text)

it.each([
  ['agent', 'export const agent ='],
  ['default', 'export default'],
])('run uses the agent that a module exports as %s', async (_, name) => {
  write('agent.mjs', agentModule(name))
  const { exitCode, output, errors } = await line.run('run', 'Throw!', '--agent', './agent.mjs')
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: 'It is a seven.\n' })
  expect(errors).toContain('→ game.dice')
})

it('the agent may be set by a variable or in the configuration file, also as a function', async () => {
  write('one.mjs', agentModule('export const agent = () =>', 'One.'))
  line.environment.DAYBOOK_AGENT = 'one.mjs'
  expect((await line.run('run', 'Throw!', '--quiet')).output).toBe('One.\n')
  delete line.environment.DAYBOOK_AGENT
  write('two.mjs', agentModule('export const two =', 'Two.'))
  write('daybook.config.js', `import { two } from './two.mjs'\nexport default { agent: two }`)
  expect((await line.run('run', 'Throw!', '--quiet')).output).toBe('Two.\n')
  expect((await line.run('config')).text).toMatch(/^agent +\(an agent\) +daybook\.config\.js$/m)
})

it('a model and limits that are set elsewhere win over those of the agent', async () => {
  write('agent.mjs', agentModule('export default'))
  const { output } = await line.run('run', 'Hello', '--agent', './agent.mjs', '--model', 'offline', '--quiet')
  expect(output).not.toContain('seven')
  line.environment.DAYBOOK_BUDGET_ROUNDS = '1'
  expect((await line.run('run', 'Throw!', '--agent', './agent.mjs', '--json')).text).toContain('"exit_reason":"max_iterations"')
})

it('replay runs the agent again', async () => {
  write('agent.mjs', agentModule('export const agent ='))
  await line.run('run', 'Throw!', '--agent', './agent.mjs', '--conversation', 'c1')
  expect(await line.run('replay', 'c1', '--agent', './agent.mjs')).toMatchObject({
    exitCode: 0,
    text: expect.stringContaining('the current code does the same'),
  })
  expect(await line.run('replay', 'c1')).toMatchObject({ exitCode: 1 })
})

it.each([
  ['that does not exist', undefined, 'there is no such file'],
  ['without an agent', 'export const other = 1', 'agent.mjs must export `agent`'],
  ['with a wrong option', 'export const agent = { tool: [] }', 'defineAgent: there is no option `tool`'],
  ['that throws', '\n\nthrow new Error("no key")', 'cannot load ./agent.mjs: no key'],
  ['with a wrong syntax', '\nexport const agent = {', 'cannot load ./agent.mjs: '],
])('a module %s gives one line that says so, and other commands work', async (_, text, words) => {
  if (text !== undefined) write('agent.mjs', text)
  const { exitCode, errors } = await line.run('run', 'Throw!', '--agent', './agent.mjs')
  expect(exitCode).toBe(1)
  expect(errors).toContain(words)
  expect(errors.trimEnd()).not.toContain('\n')
  expect((await line.run('list', '--agent', './agent.mjs')).exitCode).toBe(0)
})

it.each([
  ['a module', 'await new Promise(() => {})\nexport const agent = {}'],
  ['the function that a module exports', 'export const agent = () => new Promise(() => {})'],
])('%s that does not end is reported after some time', async (_, text) => {
  write('endless.mjs', text)
  const load = { ...createLoad(), timeoutMs: 50 }
  await expect(loadAgentModule('./endless.mjs', line.folder, load)).rejects.toThrow('cannot load ./endless.mjs: it was still loading after')
})

it('a configuration file that does not end is reported after some time', async () => {
  write('endless.config.mjs', 'await new Promise(() => {})\nexport default {}')
  const load = { ...createLoad(), timeoutMs: 50 }
  const importing = importConfiguration(join(line.folder, 'endless.config.mjs'), line.folder, load)
  await expect(importing).rejects.toThrow('endless.config.mjs can not be read: it was still loading after')
})
