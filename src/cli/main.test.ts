import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../test/support/command-line.ts'
import { reply } from '../testing/scripted-model.ts'

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

/** A timeline as other programs may write it: without ids and turn logs, and with a time in seconds. */
const bareTimeline = {
  version: 1,
  ts: '2026-02-09T02:14:32.676425Z',
  conversation_title: 'Dinner in Wuppertal',
  blocks: [
    { type: 'turn.header', author: 'system', turn_id: 'turn_1', ts: 1770603272 },
    { type: 'user.prompt', author: 'user', turn_id: 'turn_1', path: 'ar:turn_1.user.prompt', text: 'top 3 places?' },
  ],
  sources_pool: [{ sid: 4, title: 'Guide', url: 'https://guide.example/' }],
}

it('without a command it prints its version and data folder', async () => {
  const { exitCode, text } = await daybook()
  expect(exitCode).toBe(0)
  expect(text).toMatch(/daybook \d+\.\d+\.\d+ on Node 2[4-9]/)
  expect(text).toContain(join(folder, 'data'))
})

it('imports a bare timeline, lists it, and exports the same bundle each time', async () => {
  writeFileSync(join(folder, 'in.json'), JSON.stringify(bareTimeline))
  expect((await daybook('import', join(folder, 'in.json'), '--as', 'dinner')).text).toBe('imported dinner: 1 turns, 2 visible blocks')
  expect((await daybook('list')).text).toContain('dinner  Dinner in Wuppertal')
  await daybook('export', 'dinner', '--out', join(folder, 'out.json'))
  const first = readFileSync(join(folder, 'out.json'), 'utf8')
  expect(JSON.parse(first).sources_pool.next_sid).toBe(5)
  await daybook('delete', 'dinner')
  await daybook('import', join(folder, 'out.json'))
  expect((await daybook('export', 'dinner')).text).toBe(first.trimEnd())
})

it('prints one line with the error and what to do, and exits with 1', async () => {
  writeFileSync(join(folder, 'bad.json'), '{"blocks": ')
  expect(await daybook('export', 'missing')).toEqual({
    exitCode: 1,
    text: 'conversation.missing: there is no conversation missing; daybook list shows the conversations',
  })
  expect((await daybook('import', join(folder, 'bad.json'))).text).toMatch(/^bundle\.invalid: .*bad\.json is not JSON$/)
  expect((await daybook('import', join(folder, 'absent.json'))).text).toMatch(
    /^bundle\.invalid: cannot read .*absent\.json: there is no such file$/,
  )
})

it('prints one line for errors of the file system', async () => {
  writeFileSync(join(folder, 'in.json'), JSON.stringify(bareTimeline))
  await daybook('import', join(folder, 'in.json'), '--as', 'dinner')
  expect(await daybook('export', 'dinner', '--out', join(folder, 'nowhere', 'out.json'))).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^cannot write .*out\.json: its folder does not exist; create it, or name another file with --out$/),
  })
  expect(await daybook('--data', join(folder, 'in.json'), 'list')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^store\.failed: conversations can not be stored in .*\(EEXIST.*\): choose another folder with --data$/),
  })
})

it('ends quietly when the reader of its output closes the pipe', async () => {
  const blocks = [{ type: 'user.prompt', text: 'much '.repeat(200_000) }]
  writeFileSync(join(folder, 'in.json'), JSON.stringify({ version: 1, blocks }))
  await daybook('import', join(folder, 'in.json'), '--as', 'long')
  const bin = join(import.meta.dirname, '..', '..', 'bin', 'daybook.js')
  const line = '"$0" "$1" --data "$2" export long 2>"$3" | head -c 1'
  const errors = join(folder, 'errors')
  expect(execFileSync('sh', ['-c', line, process.execPath, bin, join(folder, 'data'), errors], { encoding: 'utf8' })).toBe('{')
  expect(readFileSync(errors, 'utf8')).toBe('')
})

it.skipIf(process.platform !== 'linux')('says in one line that its output can not be written', () => {
  const command = [process.execPath, 'bin/daybook.js', 'run', 'Hello', '--data', join(folder, 'data')].map((word) => `'${word}'`)
  const { status, stderr } = spawnSync('sh', ['-c', `${command.join(' ')} > /dev/full`], { encoding: 'utf8' })
  expect(stderr).toMatch(/^the output can not be written: ENOSPC/m)
  expect(stderr).not.toContain(' at ')
  expect(status).toBe(1)
})

it('refuses options of an agent together with the option --server, which names another agent', async () => {
  for (const [name, value] of [
    ['--agent', './agent.ts'],
    ['--model', 'offline'],
    ['--skills', 'skills'],
    ['--knowledge', 'docs'],
  ] as const) {
    const { exitCode, text } = await daybook('run', 'Hi', '--server', 'http://127.0.0.1:1', name, value)
    expect({ exitCode, text }).toEqual({
      exitCode: 2,
      text: `error: ${name} has no effect with --server: the server has an agent of its own`,
    })
  }
})

it('exits with 2 for an unknown command or a wrong option', async () => {
  expect(await daybook('frobnicate')).toMatchObject({ exitCode: 2, text: expect.stringContaining("unknown command 'frobnicate'") })
  expect((await daybook('list', '--limit', 'many')).exitCode).toBe(2)
  expect(await daybook('--data', '', 'list')).toMatchObject({ exitCode: 2, text: expect.stringContaining('must be a folder') })
  expect((await daybook('--help')).exitCode).toBe(0)
})

it('does not import over an existing conversation', async () => {
  writeFileSync(join(folder, 'in.json'), JSON.stringify(bareTimeline))
  await daybook('import', join(folder, 'in.json'), '--as', 'dinner')
  expect(await daybook('import', join(folder, 'in.json'), '--as', 'dinner')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^conversation\.exists: .* dinner; choose another name with --as$/),
  })
  line.setReplies(reply.answer('At noon.'))
  await daybook('run', 'When?', '--conversation', 'lunch')
  expect(await daybook('fork', 'lunch', '--as', 'dinner')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^conversation\.exists: .* dinner; choose another name with --as$/),
  })
})

it('reads conversations of a folder in which it can not write, and changes need another folder', async () => {
  writeFileSync(join(folder, 'in.json'), JSON.stringify(bareTimeline))
  await daybook('import', join(folder, 'in.json'), '--as', 'dinner')
  await withReadOnlyFolder(join(folder, 'data'), async () => {
    expect(await daybook('list')).toMatchObject({ exitCode: 0, text: expect.stringContaining('dinner  Dinner in Wuppertal') })
    expect(await daybook('show', 'dinner')).toMatchObject({ exitCode: 0, text: expect.stringContaining('top 3 places?') })
    expect(await daybook('export', 'dinner')).toMatchObject({ exitCode: 0, text: expect.stringContaining('top 3 places?') })
    expect(await daybook('cost', 'dinner')).toMatchObject({ exitCode: 0 })
    for (const command of [
      ['rename', 'dinner', 'Lunch'],
      ['delete', 'dinner'],
      ['run', 'hello'],
    ]) {
      expect(await daybook(...command)).toMatchObject({
        exitCode: 1,
        text: expect.stringMatching(/^store\.failed: .*daybook\.db can only be read.*--data$/),
      })
    }
  })
  expect((await daybook('list')).text).toContain('dinner  Dinner in Wuppertal')
})

/** Runs `work` while a folder and its files are read-only. Root could still write to them, so root becomes another user meanwhile. */
async function withReadOnlyFolder(name: string, work: () => Promise<void>): Promise<void> {
  const isRoot = process.getuid?.() === 0
  const names = [name, ...readdirSync(name, { recursive: true, encoding: 'utf8' }).map((each) => join(name, each))]
  for (const each of names) {
    if (isRoot) chownSync(each, 65_534, 65_534)
    chmodSync(each, statSync(each).isDirectory() ? 0o500 : 0o400)
  }
  if (isRoot) {
    chmodSync(folder, 0o755)
    process.seteuid?.(65_534)
  }
  try {
    await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
    for (const each of names) chmodSync(each, 0o700)
  }
}

it('rejects arguments that a command does not accept', async () => {
  const { exitCode, text } = await daybook('run', 'what', 'is', 'this')
  expect(exitCode).toBe(2)
  expect(text).toMatch(/^error: too many arguments for 'run'/)
  expect((await daybook('list')).text).toBe('no conversations')
})
