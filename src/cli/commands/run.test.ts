import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { answers, calls } from '../../testing/scripted-model.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

it('prints what comes of a question, and exits with 0', async () => {
  line.says(calls('react.plan', { mode: 'new', steps: ['look', 'say'] }, { notes: 'First a plan.' }), answers('Forty-two.'))
  const { exitCode, text } = await line.run('run', 'What is it?')
  expect(exitCode).toBe(0)
  expect(text).toContain('First a plan.\n→ react.plan')
  expect(text).toMatch(/Forty-two\.$/)
})

it('prints one line of JSON per event and the result last', async () => {
  line.says(answers('Forty-two.', { followups: ['Why?'] }))
  const { exitCode, output } = await line.run('run', 'What is it?', '--json', '--conversation', 'c1')
  const events = output
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text))
  expect(exitCode).toBe(0)
  const entries = events.filter(({ type }) => type === 'entry')
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
  expect(entries.at(-1)).toMatchObject({ change: { type: 'turn.closed' } })
  expect(events.at(-1)).toMatchObject({
    type: 'result',
    ok: true,
    conversation: 'c1',
    exit_reason: 'complete',
    answer: 'Forty-two.',
    followups: ['Why?'],
  })
})

it('sends files along, and the model sees them', async () => {
  writeFileSync(join(line.folder, 'report.txt'), 'Costs were 7 in March.')
  const model = line.says(answers('Seven.'))
  expect(await line.run('run', 'Costs?', '--attach', 'report.txt')).toMatchObject({ exitCode: 0 })
  const prompt = model.requests
    .at(-1)
    ?.parts.map((part) => ('text' in part ? part.text : ''))
    .join('\n')
  expect(prompt).toContain('report.txt')
})

it('goes on in a conversation', async () => {
  line.says(answers('One.'), answers('Two.'))
  await line.run('run', 'first', '--conversation', 'c1')
  expect((await line.run('run', 'second', '--conversation', 'c1')).text).not.toContain('One.')
  expect((await line.run('list')).text).toMatch(/ {2}c1 {2}A scripted conversation$/)
})

it('exits with 1 when the turn failed, and says why', async () => {
  line.says({ error: { message: 'the provider is down' } }, { error: { message: 'the provider is down' } })
  expect(await line.run('run', 'hello')).toMatchObject({ exitCode: 1, text: expect.stringContaining('✗ scripted: the provider is down') })
  const { exitCode, output } = await line.run('run', 'hello', '--json')
  expect(exitCode).toBe(1)
  expect(JSON.parse(output.trimEnd().split('\n').at(-1) as string)).toMatchObject({ type: 'result', ok: false, exit_reason: 'error' })
})

it('reads nothing halfway: a file that is not there is named before anything is asked', async () => {
  const model = line.says(answers('never'))
  expect(await line.run('run', 'x', '--attach', 'absent.pdf')).toMatchObject({
    exitCode: 1,
    text: 'attachment.rejected: cannot read absent.pdf: there is no such file; nothing was sent',
  })
  expect(model.requests).toEqual([])
})

it('takes its prompt from the standard input', async () => {
  const model = line.says(answers('Yes.'))
  const running = line.start('run', '-')
  running.type('is this heard?')
  running.endOfInput()
  expect(await running.exitCode).toBe(0)
  expect(JSON.stringify(model.requests)).toContain('is this heard?')
})

it('stops the turn when it is asked to end, and exits as a program does that a signal ended', async () => {
  line.says(...Array.from({ length: 2 }, () => ({ text: answers('Never quite').replace('</channel:answer>', ''), stall: true }) as const))
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const running = line.start('run', 'hello')
    await running.until('Never quite')
    running.end(signal)
    expect(await running.exitCode).toBe(exitCode)
  }
})

it('tells whoever reads JSON of a stopped turn what came of it, too', async () => {
  line.says({ text: answers('Never quite').replace('</channel:answer>', ''), stall: true })
  const running = line.start('run', 'hello', '--json')
  await running.until('Never quite')
  running.end()
  expect(await running.exitCode).toBe(130)
  expect(JSON.parse(running.text.trimEnd().split('\n').at(-1) as string)).toMatchObject({ type: 'result', exit_reason: 'steer' })
})

it('exits with 2 when it is not told what to ask, or where by no name', async () => {
  expect(await line.run('run', 'x', '--conversation', 'other/default/user/c1')).toMatchObject({
    exitCode: 2,
    text: expect.stringContaining('must be made of letters'),
  })
  expect(await line.run('run')).toMatchObject({ exitCode: 2, text: expect.stringContaining("missing required argument 'prompt'") })
})

it('says in one line that a model can not be used', async () => {
  line.given = { model: 'nobody/nothing' }
  const { exitCode, text } = await line.run('run', 'x')
  expect(exitCode).toBe(1)
  expect(text).toMatch(/^model\.unavailable: [^\n]+$/)
})

it.each([
  ['.', 'it is a folder'],
  ['/dev/zero', 'it is a pipe or a device'],
  ['pipe', 'it is a pipe or a device'],
])('refuses to attach %s at once, in words', async (name, words) => {
  execFileSync('mkfifo', [join(line.folder, 'pipe')])
  const { exitCode, text } = await line.run('run', 'What is it?', '--attach', name)
  expect(exitCode).toBe(1)
  expect(text).toContain(`attachment.rejected: cannot read ${name}: ${words}`)
  expect(text.split('\n')).toHaveLength(1)
})
