import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { reply } from '../../testing/scripted-model.ts'
import { openStore } from '../../wiring/store.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

it('prints the turn and exits with 0', async () => {
  line.setReplies(reply.call('react.plan', { mode: 'new', steps: ['look', 'say'] }, { notes: 'First a plan.' }), reply.answer('Forty-two.'))
  const { exitCode, text } = await line.run('run', 'What is it?')
  expect(exitCode).toBe(0)
  expect(text).toContain('First a plan.\n→ react.plan')
  expect(text).toContain('\nForty-two.\n')
})

const planThenAnswer = () =>
  line.setReplies(
    reply.call('react.plan', { mode: 'new', steps: ['look', 'say'] }, { notes: 'First a plan.', thinking: 'Think.' }),
    reply.answer('Forty-two.\nCertainly.', { followups: ['Why?'], thinking: 'Think more.' }),
  )

it('prints the answer on the standard output, and the rest and the conversation on the error stream', async () => {
  planThenAnswer()
  const { output, errors } = await line.run('run', 'What is it?', '--conversation', 'c1')
  expect(output).toBe('Forty-two.\nCertainly.\n')
  for (const words of ['First a plan.', '→ react.plan', 'Why?', '--conversation c1']) expect(errors).toContain(words)
  expect(errors).not.toContain('Forty-two.')
})

it('--quiet prints only the answer', async () => {
  planThenAnswer()
  expect(await line.run('run', 'What is it?', '--quiet')).toMatchObject({ output: 'Forty-two.\nCertainly.\n', errors: '' })
})

it('--quiet still says why a turn failed', async () => {
  line.setReplies({ error: { message: 'the provider is down' } }, { error: { message: 'the provider is down' } })
  expect(await line.run('run', 'hello', '--quiet')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('the provider is down') })
})

it('prints one JSON line per event and the result last', async () => {
  line.setReplies(reply.answer('Forty-two.', { followups: ['Why?'] }))
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
    sources: [],
    files: [],
    usage: { uncached: expect.any(Number), calls: 2 },
    cost: { money: null, reason: 'unknown_price', models: ['scripted'] },
    rounds: 1,
    timings: { started_at: expect.any(String), ended_at: expect.any(String), total_ms: expect.any(Number) },
  })
})

it('--json ends with a line about the error if the command fails before the turn has a result', async () => {
  const { exitCode, output, errors } = await line.run('run', 'Hi', '--json', '--attach', 'nothing.pdf')
  expect(exitCode).toBe(1)
  expect(JSON.parse(output)).toEqual({ type: 'error', message: expect.stringContaining('cannot read nothing.pdf') })
  expect(errors).toContain('cannot read nothing.pdf')
})

it('sends attached files, and the model sees them', async () => {
  writeFileSync(join(line.folder, 'report.txt'), 'Costs were 7 in March.')
  const model = line.setReplies(reply.answer('Seven.'))
  expect(await line.run('run', 'Costs?', '--attach', 'report.txt')).toMatchObject({ exitCode: 0 })
  const prompt = model.requests
    .at(-1)
    ?.parts.map((part) => ('text' in part ? part.text : ''))
    .join('\n')
  expect(prompt).toContain('report.txt')
})

it('says which process uses a busy conversation, until when, and what to do', async () => {
  line.setReplies(reply.answer('One.'))
  await line.run('run', 'first', '--conversation', 'c1')
  const store = await openStore({ data: join(line.folder, 'data') })
  const { expiresAt } = await store.claim('c1', { id: 'other', host: 'elsewhere', pid: 4711 })
  await store.close()
  expect(await line.run('rename', 'c1', 'Mine')).toMatchObject({
    exitCode: 1,
    text: `conversation.busy: conversation c1 is in use by process 4711 on elsewhere until ${expiresAt}, or longer if it keeps working: try again then, or end it first; if the process is a chat, close it; if it is a server, use --server <address>`,
  })
})

it('continues a conversation', async () => {
  line.setReplies(reply.answer('One.'), reply.answer('Two.'))
  await line.run('run', 'first', '--conversation', 'c1')
  expect((await line.run('run', 'second', '--conversation', 'c1')).text).not.toContain('One.')
  expect((await line.run('list')).text).toMatch(/ {2}c1 {2}A scripted conversation$/)
})

it('exits with 1 when the turn failed, and says why', async () => {
  line.setReplies({ error: { message: 'the provider is down' } }, { error: { message: 'the provider is down' } })
  expect(await line.run('run', 'hello')).toMatchObject({ exitCode: 1, text: expect.stringContaining('✗ scripted: the provider is down') })
  const { exitCode, output } = await line.run('run', 'hello', '--json')
  expect(exitCode).toBe(1)
  expect(JSON.parse(output.trimEnd().split('\n').at(-1) as string)).toMatchObject({ type: 'result', ok: false, exit_reason: 'error' })
})

it('says what to do when a turn has a limit of cost and the price of its model is not known', async () => {
  line.setReplies(reply.answer('Never sent.'))
  line.settings = { ...line.settings, 'budget.money': 1 }
  const { exitCode, errors } = await line.run('run', 'Hello.')
  expect(exitCode).toBe(1)
  expect(errors).toContain(
    'a limit of money needs the price of the model: remove budget.money (DAYBOOK_BUDGET_MONEY) and the money limits in budgets, or choose another model\n',
  )
})

it('a budget of the settings ends the turn before it is exceeded', async () => {
  line.setReplies(reply.answer('Never sent.'))
  line.environment.DAYBOOK_BUDGETS_CONVERSATION = 'tokens=1000'
  const { output } = await line.run('run', 'Hello.', '--conversation', 'c1', '--json')
  expect(output).not.toContain('Never sent.')
  expect(JSON.parse(output.trimEnd().split('\n').at(-1) as string)).toMatchObject({ type: 'result', exit_reason: 'budget' })
  expect((await line.run('admin', 'budgets', 'show', 'conversation/c1')).text).toMatch(/conversation\/c1 +1,000 tokens +\d+ tokens \$0/)
})

it('lists the files that the turn made, and not the attachments that it read', async () => {
  line.settings = {}
  writeFileSync(join(line.folder, 'a.csv'), 'a,b\n1,2\n')
  const filesOf = async (prompt: string) => {
    const { output } = await line.run('run', prompt, '--attach', 'a.csv', '--json')
    const { answer, files } = JSON.parse(output.trimEnd().split('\n').at(-1) as string) as { answer: string; files: { path: string }[] }
    expect(answer).not.toBe('')
    return files.map(({ path }) => path.replace(/turn_\w+/, 'turn'))
  }
  expect(await filesOf('How many rows are in a.csv?')).toEqual([])
  expect(await filesOf('Make a report file of a.csv')).toEqual(['fi:turn.files/report.md'])
})

it('sends nothing when an attachment can not be read', async () => {
  const model = line.setReplies(reply.answer('never'))
  expect(await line.run('run', 'x', '--attach', 'absent.pdf')).toMatchObject({
    exitCode: 1,
    text: 'attachment.rejected: cannot read absent.pdf: there is no such file; nothing was sent',
  })
  expect(model.requests).toEqual([])
})

it('reads its prompt from the standard input', async () => {
  const model = line.setReplies(reply.answer('Yes.'))
  const running = line.start('run', '-')
  running.type('is this read?')
  running.endOfInput()
  expect(await running.exitCode).toBe(0)
  expect(JSON.stringify(model.requests)).toContain('is this read?')
})

it('stops the turn on a signal and exits with the code of that signal', async () => {
  line.setReplies(
    ...Array.from({ length: 2 }, () => ({ text: reply.answer('Never quite').replace('</channel:answer>', ''), stall: true }) as const),
  )
  for (const [signal, exitCode] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const running = line.start('run', 'hello')
    await running.until('Never quite')
    running.end(signal)
    expect(await running.exitCode).toBe(exitCode)
    expect(running.text).toMatch(/Never quite\n> \(stop\)\n {2}\(stopped here\)\n/)
  }
})

it('prints the result as JSON for a stopped turn, too', async () => {
  line.setReplies({ text: reply.answer('Never quite').replace('</channel:answer>', ''), stall: true })
  const running = line.start('run', 'hello', '--json', '--conversation', 'c1')
  await running.until('Never quite')
  running.end()
  expect(await running.exitCode).toBe(130)
  expect(JSON.parse(running.text.trimEnd().split('\n').at(-1) as string)).toMatchObject({
    type: 'result',
    exit_reason: 'steer',
    answer: 'Never quite',
    stopped: true,
  })
  expect((await line.run('show', 'c1')).text).toMatch(/assistant\.completion +\(stopped\) Never quite/)
})

it('exits with 2 without a prompt or with an invalid conversation name', async () => {
  expect(await line.run('run', 'x', '--conversation', 'other/default/user/c1')).toMatchObject({
    exitCode: 2,
    text: expect.stringContaining('must be letters'),
  })
  expect(await line.run('run')).toMatchObject({ exitCode: 2, text: expect.stringContaining("missing required argument 'prompt'") })
})

it('exits with 2 for a message without text and files, and sends nothing', async () => {
  for (const prompt of ['', ' \n']) {
    expect(await line.run('run', prompt)).toMatchObject({
      exitCode: 2,
      text: 'error: the message is empty; write a text, or attach a file with --attach',
    })
  }
  expect((await line.run('list')).text).not.toContain('c_')
})

it('prints one line when the model is not available', async () => {
  line.settings = { model: 'unknown/model' }
  const { exitCode, text } = await line.run('run', 'x')
  expect(exitCode).toBe(1)
  expect(text).toMatch(/^model\.unavailable: [^\n]+$/)
})

it.each([
  ['.', 'it is a folder'],
  ['/dev/zero', 'it is a pipe or a device'],
  ['pipe', 'it is a pipe or a device'],
])('rejects the attachment %s at once', async (name, reason) => {
  execFileSync('mkfifo', [join(line.folder, 'pipe')])
  const { exitCode, text } = await line.run('run', 'What is it?', '--attach', name)
  expect(exitCode).toBe(1)
  expect(text).toContain(`attachment.rejected: cannot read ${name}: ${reason}`)
  expect(text.split('\n')).toHaveLength(1)
})
