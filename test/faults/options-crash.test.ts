import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { createDatabaseFolder, openStoreIn } from './children.ts'
import { optionTools } from './options-work.ts'

const database = createDatabaseFolder()
afterAll(() => rmSync(database.folder, { recursive: true, force: true }))

const announceOf = (request: ModelRequest | undefined) => {
  const part = request?.parts.at(-1)
  return part?.type === 'text' ? part.text : ''
}

it('a turn that was killed is resumed with its options, and a replay gives the same turn', { timeout: 60_000 }, async () => {
  const script = join(import.meta.dirname, 'options-child.ts')
  const child = spawn(process.execPath, [script, database.folder, database.file, database.blobs], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let hanging = 0
  for await (const line of createInterface({ input: child.stdout })) if (line === 'hangs' && ++hanging === 3) break
  child.kill('SIGKILL')
  await exited

  const store = await openStoreIn(database)
  const rest = [reply.call('notes.burn'), reply.call('notes.take', { text: 'two' }), reply.answer('Fertig.')]
  const strong = scriptedModel(rest, { name: 'strong-1' })
  const json = scriptedModel([reply.answer('{"n":"one"}'), reply.answer('{"n":1}')])
  const usual = scriptedModel([reply.answer('Usual.')], { name: 'usual' })
  const problems: string[] = []
  const tools = optionTools(() => 'went on')
  const onProblem = ({ where }: { readonly where: string }) => void problems.push(where)
  const agent = createAgentFrom({ store, clock: createSystemClock(), model: usual, models: { strong, json }, tools, onProblem })
  const { results } = await agent.recover()

  const stored = { max_rounds: 4, instructions: 'Answer in German.', tools: ['notes.take', 'notes.hang'] }
  const named = results.find(({ options }) => options?.model === 'strong')
  // two rounds before the kill and two after it: the call of a tool that is not offered is refused, then the limit of four rounds is reached
  expect(named).toMatchObject({ exitReason: 'max_iterations', answer: 'Fertig.', rounds: 5, options: { ...stored, model: 'strong' } })
  expect(strong.requests).toHaveLength(3)
  for (const request of strong.requests) expect(announceOf(request)).toContain('[INSTRUCTIONS FOR THIS TURN]\n  Answer in German.')
  expect(announceOf(strong.requests[0])).toContain('Only these tools can be called in this turn: notes.take, notes.hang')
  expect(announceOf(strong.requests[0])).toContain('Iteration 3/4')

  // the schema of the caller is gone: the stored JSON Schema refuses the first answer
  expect(results.find(({ options }) => options?.model === 'json')).toMatchObject({ output: { n: 1 }, answer: '{"n":1}', rounds: 3 })

  const unnamed = results.find(({ options }) => options?.model === undefined)
  expect(unnamed).toMatchObject({ answer: 'Usual.', options: { ...stored, unstored: ['model'] } })
  expect(problems).toEqual(['options'])
  const shown = usual.requests
    .at(-1)
    ?.parts.map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
  expect(shown).toContain('[SYSTEM MESSAGE]\nThe process that ran this turn ended, and these options of the turn ended with it: model.')

  for (const conversation of ['named', 'unnamed', 'json']) {
    const [replayed] = await replay(store, conversation, { tools })
    expect(replayed?.divergence).toBeUndefined()
    expect(replayed?.rounds).toBeGreaterThan(1)
  }
  await agent.close()
  await store.close()
})
