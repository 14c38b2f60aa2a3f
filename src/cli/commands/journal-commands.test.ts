import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { cacheOf, scriptedModelWithCache } from '../../../test/support/models/model-with-cache.ts'
import { weather } from '../../../test/support/scenario-tools.ts'
import { createAgentFrom } from '../../agent/agent.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { reply } from '../../testing/scripted-model.ts'
import { createAgent } from '../../wiring/agent.ts'
import { openStore } from '../../wiring/store.ts'

let line: CommandLine
let folder: string
beforeEach(() => {
  line = createCommandLine()
  folder = line.folder
})
afterEach(() => line.remove())

const daybook = async (...args: readonly string[]) => {
  const { exitCode, text } = await line.run(...args)
  return { exitCode, text }
}

/** Records two turns with a model whose prices are known. The second turn has another system text. */
async function record(): Promise<void> {
  const clock = createFixedClock()
  const store = await openStore({ data: join(folder, 'data') })
  const cache = cacheOf()
  const replies = [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')]
  for (const [turn, customisation] of ['Be brief.', 'Be kind.'].entries()) {
    const model = scriptedModelWithCache(replies, { cache, clock, name: 'anthropic/claude-sonnet-4-5' })
    const agent = createAgentFrom({ model, store, clock, tools: [weather()], customisation, settings: { recordPrompts: true } })
    await agent.run('c', `Question ${turn}?`).result
    await agent.close()
    clock.advance(9_000)
  }
  await store.close()
}

/** Replaces the ids of turns by a text of the same length, so that the columns stay aligned. */
const withoutIds = (text: string) => text.replace(/turn_\w+/g, (id) => 'turn_X'.padEnd(id.length, '·'))

it('cache shows how much each call read from the cache, how much it should have read, and the reason for a miss', async () => {
  await record()
  const { exitCode, text } = await daybook('cache', 'c')
  expect(exitCode).toBe(0)
  expect(withoutIds(text)).toMatch(
    new RegExp(
      [
        '^turn +round +hit +read +expected +written +in full',
        'turn_X·+ +0 +0 % +0 +0 +[\\d,]+ +\\d+',
        ' +1 +\\d+ % +([\\d,]+) +\\1 +\\d+ +\\d+',
        'turn_X·+ +0 +0 % +0 +[\\d,]+ +[\\d,]+ +\\d+',
        ' +✗ system text changed: the system text is not the one of the call before \\([\\d,]+ tokens\\)',
        ' +1 +\\d+ % +([\\d,]+) +\\2 +\\d+ +\\d+',
        '',
        'hit rate [\\d.]+ %: read [\\d,]+, written [\\d,]+, in full [\\d,]+',
        '1 miss: [\\d,]+ tokens paid again$',
      ].join('\n'),
    ),
  )
})

it('cost shows the cost by turn, role, model and block', async () => {
  await record()
  const { text } = await daybook('cost', 'c')
  expect(withoutIds(text)).toMatch(/^turn +cost .*\nturn_X·+ +\$0\.\d{6} /)
  expect(text).toMatch(/\nsystem +\$0\.\d{6} /)
  expect(text).toMatch(/\ntotal \$0\.\d{6} for 5 calls$/)
  const { blocks, total } = JSON.parse((await daybook('cost', 'c', '--json')).text)
  const sum = Object.values(blocks as Record<string, { money: number }>).reduce((money, block) => money + block.money, 0)
  expect(sum).toBe(total.money)
})

it('cost uses the prices of the agent, and the list prices if the agent can not be loaded', async () => {
  await record()
  writeFileSync(join(folder, 'agent.mjs'), `export const agent = { settings: { priceOf: () => 0.01 } }`)
  expect((await daybook('--agent', './agent.mjs', 'cost', 'c')).text).toContain('\ntotal $0.050000 for 5 calls')
  writeFileSync(join(folder, 'broken.mjs'), 'export const agent = {')
  const { text, exitCode } = await daybook('--agent', './broken.mjs', 'cost', 'c')
  expect({ text, exitCode }).toMatchObject({ text: expect.stringContaining('list prices are used'), exitCode: 0 })
  expect(text).toMatch(/\ntotal \$0\.\d{6} for 5 calls/)
})

it('replay exits with 1 when the current agent would do something else than the record says', async () => {
  await record()
  const brief = join(folder, 'agent.mjs')
  writeFileSync(brief, `export const agent = { customisation: 'Be brief.' }`)
  expect(await daybook('replay', 'c', '--agent', brief)).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('the prompt differs in the tools'),
  })
  expect((await daybook('replay', 'c')).text).toMatch(/2 of 2 turns would not be the same\ngive the agent that recorded it with --agent/)
  const { exitCode, text } = await daybook('replay', 'c', '--any-system')
  expect({ exitCode, text: withoutIds(text) }).toEqual({
    exitCode: 1,
    text: expect.stringMatching(
      /^turn_X·+ {2}1 round {2}not the same\n +✗ entry \d+: on record .*react\.tool\.call.*; now .*react\.notice/,
    ),
  })
  expect(await daybook('replay', 'c', 'turn_none')).toMatchObject({ exitCode: 1, text: expect.stringMatching(/^turn\.missing/) })
  expect(await daybook('replay', 'nobody')).toMatchObject({ exitCode: 1, text: expect.stringMatching(/^conversation\.missing/) })
})

it('replay finds no difference with the agent that recorded the conversation', async () => {
  const clock = createFixedClock()
  const store = await openStore({ data: join(folder, 'data') })
  const model = scriptedModelWithCache([reply.answer('Hello.')], { cache: cacheOf(), clock })
  const agent = createAgent({ model, store, clock, skills: ['built-in'] }) // the command has these skills by default
  await agent.run('c', 'Hello?').result
  await agent.close()
  await store.close()
  const { exitCode, text } = await daybook('replay', 'c')
  expect({ exitCode, text: withoutIds(text) }).toEqual({
    exitCode: 0,
    text: expect.stringMatching(/^turn_X·+ {2}1 round {2}the same\n\n1 turn, 1 round: the current code does the same$/),
  })
})

it('cachelint does not check the hit rate of a model whose cache is not known', async () => {
  for (const prompt of ['Hello.', 'Thanks.']) expect((await daybook('run', prompt, '--conversation', 'offline')).exitCode).toBe(0)
  expect(await daybook('cachelint', 'offline')).toEqual({
    exitCode: 0,
    text: 'the hit rate is not checked, because it is not known how the provider of this model caches\nnothing found',
  })
})

it('cachelint exits with 1 for a date in the texts and for an avoidable miss, and with 0 within the budget', async () => {
  await record()
  expect(await daybook('cachelint')).toEqual({
    exitCode: 2,
    text: 'error: there is nothing to check; name a conversation, or a file with an agent after --agent',
  })
  expect(await daybook('cachelint', 'c')).toMatchObject({ exitCode: 1, text: expect.stringContaining('avoidable miss') })
  expect(await daybook('cachelint', 'c', '--misses', '1', '--hit-rate', '10%')).toEqual({ exitCode: 0, text: 'nothing found' })
  const file = join(folder, 'dated.mjs')
  writeFileSync(file, 'let made = 0\nexport const agent = () => ({ customisation: "Today is 2026-11-15, visit " + made++ })')
  const { exitCode, text } = await daybook('cachelint', '--agent', file)
  expect(exitCode).toBe(1)
  expect(text.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2).join(': '))).toEqual([
    'date in system text: customisation',
    'unstable text: customisation',
  ])
  writeFileSync(join(folder, 'empty.mjs'), 'export const other = 1')
  expect(await daybook('cachelint', '--agent', join(folder, 'empty.mjs'))).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('must export `agent`'),
  })
  expect((await daybook('cachelint', '--hit-rate', 'much')).exitCode).toBe(2)
})

it('prints one line for an agent module that is missing or can not be loaded', async () => {
  await record()
  writeFileSync(join(folder, 'broken.mjs'), 'export const agent = {')
  writeFileSync(join(folder, 'throws.mjs'), 'throw new Error("no key")')
  writeFileSync(join(folder, 'throws-later.mjs'), 'export const agent = () => { throw new TypeError("no key") }')
  writeFileSync(join(folder, 'imports.mjs'), 'import "./nowhere.mjs"\nexport const agent = {}')
  for (const [name, reason] of [
    ['absent.mjs', /^cannot load \S*absent\.mjs: there is no such file$/],
    ['.', /^cannot load \S*: it is a folder; name a file in it$/],
    ['broken.mjs', /^cannot load \S*broken\.mjs: .+$/],
    ['throws.mjs', /^cannot load \S*throws\.mjs: no key \(throws\.mjs:1:7\)$/],
    ['throws-later.mjs', /^cannot load \S*throws-later\.mjs: no key \(throws-later\.mjs:1:36\)$/],
    ['imports.mjs', /^cannot load \S*\/imports\.mjs: .*nowhere\.mjs.*$/],
  ] as const) {
    const expected = { exitCode: 1, text: expect.stringMatching(reason) }
    expect(await daybook('cachelint', '--agent', join(folder, name))).toMatchObject(expected)
    expect(await daybook('replay', 'c', '--agent', join(folder, name))).toMatchObject(expected)
  }
})

it('effects lists the calls of tools that may have changed something', async () => {
  await record()
  const { exitCode, text } = await daybook('effects', 'c')
  expect(exitCode).toBe(0)
  expect(text).toMatch(/done +weather\.today +[0-9a-f]{12}/)
  expect(text).toMatch(/\n2 calls$/)
  const { output } = await line.run('effects', 'c', '--json')
  expect(JSON.parse(output).effects).toMatchObject([{ tool_id: 'weather.today', status: 'done' }, { tool_id: 'weather.today' }])
  expect(await daybook('effects', 'none')).toMatchObject({ exitCode: 1 })
})
