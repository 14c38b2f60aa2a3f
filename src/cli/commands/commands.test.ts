import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine, type RunningCommand } from '../../../test/support/command-line.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const write = (name: string, text: string) => writeFileSync(join(line.folder, name), text)

async function startServer(): Promise<{ readonly url: string; readonly server: RunningCommand }> {
  const server = line.start('serve', '--port', '0')
  const [url = ''] = /http:\S+/.exec(await server.until(/daybook is at \S+\n/)) ?? []
  return { url, server }
}

it('serves until a signal, then shuts down in order', async () => {
  line.setReplies(reply.answer('One.'))
  const { url, server } = await startServer()
  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' })
  server.end()
  expect(await server.exitCode).toBe(0)
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
})

it('commands do the same with a server as with a local data folder', async () => {
  line.setReplies(reply.answer('One.'), reply.answer('Two.'))
  const { url, server } = await startServer()
  const remote = (...args: readonly string[]) => line.run('--server', url, ...args)
  expect(await remote('run', 'first', '--conversation', 'c1')).toMatchObject({ exitCode: 0, text: expect.stringContaining('One.') })
  expect((await remote('list')).text).toContain('c1  A scripted conversation')
  expect((await remote('rename', 'c1', 'Other')).text).toBe('renamed c1')
  expect((await remote('show', 'c1')).text).toContain('assistant.completion')
  expect((await remote('show', 'c1', '--round', '0')).text).toContain('cache mark: system text')
  expect((await remote('fork', 'c1', '--as', 'c2')).text).toContain('forked c1 as c2')
  expect((await remote('export', 'c2', '--out', 'c2.json')).exitCode).toBe(0)
  expect((await remote('delete', 'c2')).text).toBe('deleted c2')
  expect((await remote('import', 'c2.json', '--as', 'c3')).text).toContain('imported c3')
  expect(await remote('show', 'c2')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^conversation\.missing: [^\n]*daybook list/),
  })
  const chat = line.start('--server', url, 'chat', '--conversation', 'c1')
  await chat.until('> first')
  chat.type('second')
  await chat.until('Two.')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
  server.end()
  expect(await server.exitCode).toBe(0)
  expect(await remote('list')).toMatchObject({ exitCode: 1, text: expect.stringContaining('start one with daybook serve') })
})

it('serve needs tokens to listen beyond the loopback, and one key to verify them', async () => {
  line.setReplies()
  expect(await line.run('serve', '--host', '0.0.0.0', '--port', '0')).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('configure auth'),
  })
  line.environment.DAYBOOK_AUTH_SECRET = 'x'.repeat(40)
  line.environment.DAYBOOK_AUTH_JWKS_URL = 'https://keys.example/'
  expect(await line.run('serve', '--port', '0')).toMatchObject({ exitCode: 1, text: expect.stringContaining('one key') })
})

it('serve says in one line that the key for tokens can not be used', async () => {
  line.setReplies()
  const pem = (kind: 'ed25519' | 'x25519') =>
    generateKeyPairSync(kind as 'ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string
  for (const key of ['abc', '-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----', pem('x25519')]) {
    line.environment.DAYBOOK_AUTH_PUBLIC_KEY = key
    expect(await line.run('serve', '--port', '0')).toMatchObject({
      exitCode: 1,
      text: expect.stringMatching(/^auth\.publicKey must be an Ed25519 public key in PEM format .*$/),
    })
  }
})

it('says that a port is in use and what to do', async () => {
  line.setReplies()
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  expect(await line.run('serve', '--port', String(port))).toMatchObject({ exitCode: 1, text: expect.stringMatching(/EADDRINUSE.*--port/) })
  line.environment.DAYBOOK_PORT = String(port)
  expect((await line.run('doctor')).text).toMatch(/^! port .*EADDRINUSE: .*--port$/m)
  other.close()
})

it('shows a conversation block by block, and one turn in full', async () => {
  line.setReplies(reply.call('react.plan', { mode: 'new', steps: ['look'] }), reply.answer(`Long. ${'word '.repeat(100)}end.`))
  await line.run('run', 'What?', '--conversation', 'c1')
  const { text } = await line.run('show', 'c1')
  expect(text).toMatch(/^c1 {2}A scripted conversation\n[^\n]+\n\n── turn_\S+ /)
  expect(text).toMatch(/user\.prompt +What\?/)
  expect(text).toMatch(/react\.tool\.call +/)
  expect(text).not.toContain('end.')
  const [, turn = ''] = /── (turn_\S+)/.exec(text) ?? []
  expect((await line.run('show', 'c1', '--turn', turn)).text).toContain('end.')
  expect(text).toMatch(/\nstarted \S+Z · last active \S+Z · 1 turn\n/)
  expect((await line.run('show', 'c1', '--turn', turn)).text).toMatch(/\nended \S+Z · \d+ blocks · \d+ tokens\n/)
  expect((await line.run('show', 'c1', '--turn', 'turn_0')).text).toMatch(/^turn\.missing: .*lists its turns$/)
})

it('shows the prompt of any round, with its cache marks', async () => {
  const model = scriptedModel([reply.call('react.plan', { mode: 'new', steps: ['look'] }), reply.answer('One.'), reply.answer('Two.')])
  line.settings = { model }
  await line.run('run', 'What?', '--conversation', 'c1')
  await line.run('run', 'And?', '--conversation', 'c1')
  const [, first = ''] = /── (turn_\S+)/.exec((await line.run('show', 'c1')).text) ?? []
  const decisions = model.requests.filter(({ role }) => role === 'decision')
  for (const [args, request] of [
    [['--turn', first, '--round', '0'], decisions[0]],
    [['--turn', first, '--round', '1'], decisions[1]],
    [['--round', '0'], decisions[2]],
  ] as const) {
    const { exitCode, text } = await line.run('show', 'c1', ...args)
    expect(exitCode).toBe(0)
    expect(text).not.toContain('not the prompt that was sent')
    expect(text).toContain(request?.system)
    for (const part of request?.parts ?? []) if (part.type === 'text') expect(text).toContain(part.text)
    expect(text.match(/cache mark: \d/g) ?? []).toHaveLength(request?.parts.filter(({ cache }) => cache).length ?? -1)
  }
  expect(await line.run('show', 'c1', '--round', '7')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^turn\.missing: .*round 7/),
  })
  expect((await line.run('show', 'c1', '--round', 'x')).exitCode).toBe(2)
})

it('creates no data folder for a command that stores nothing', async () => {
  expect((await line.run('list')).text).toContain('no conversations')
  for (const command of ['show', 'export', 'delete', 'fork', 'cost', 'cache', 'replay', 'cachelint']) {
    expect(await line.run(command, 'c1'), command).toMatchObject({
      exitCode: 1,
      text: 'conversation.missing: there is no conversation c1; daybook list shows the conversations',
    })
  }
  expect(existsSync(join(line.folder, 'data'))).toBe(false)
})

it('forks at a turn and renames', async () => {
  line.setReplies(reply.answer('One.'), reply.answer('Two.'))
  await line.run('run', 'first', '--conversation', 'c1')
  await line.run('run', 'second', '--conversation', 'c1')
  const [, turn = ''] = /── (turn_\S+)/.exec((await line.run('show', 'c1')).text) ?? []
  await line.run('fork', 'c1', '--turn', turn, '--as', 'c2')
  const { text } = await line.run('show', 'c2')
  expect(text).toContain('first')
  expect(text).not.toContain('second')
  await line.run('rename', 'c2', 'Another\x1b[2J title')
  expect((await line.run('list', '--search', 'another')).text).toMatch(/c2 {2}Another␛\[2J title$/)
})

it('says what to do about a missing turn, a missing folder and a wrong port', async () => {
  line.setReplies(reply.answer('One.'))
  await line.run('run', 'first', '--conversation', 'c1')
  const [, turn = ''] = /── (turn_\S+)/.exec((await line.run('show', 'c1')).text) ?? []
  expect(await line.run('fork', 'c1', '--turn', 'nope')).toMatchObject({
    exitCode: 1,
    text: `change.invalid: c1: turn nope does not exist or is not finished; the latest finished turn is ${turn}`,
  })
  expect(await line.run('export', 'c1', '--out', 'absent/c1.json')).toMatchObject({
    exitCode: 1,
    text: 'cannot write absent/c1.json: its folder does not exist; create it, or name another file with --out',
  })
  expect(await line.run('export', 'c1', '--out', '.')).toMatchObject({
    exitCode: 1,
    text: 'cannot write .: it is a folder; name a file in it with --out',
  })
  for (const port of ['abc', '70000', '-1', '1.5', '']) {
    expect(await line.run('serve', `--port=${port}`)).toMatchObject({
      exitCode: 2,
      text: expect.stringContaining('must be a whole number from 0 to 65535; 0 chooses a free port'),
    })
  }
})

it.skipIf(!existsSync('/proc/self'))('fails at once when the data folder can not be created', async () => {
  for (const folder of ['/proc/daybook', '/proc/daybook/deep/down']) {
    expect(await line.run('--data', folder, 'run', 'Hello')).toMatchObject({
      exitCode: 1,
      text: expect.stringMatching(
        new RegExp(`^store\\.failed: conversations can not be stored in ${folder} \\([^\n]+\\): choose another folder with --data$`),
      ),
    })
  }
})

it('prints every setting and where it comes from, and no secret', async () => {
  write('daybook.config.ts', `export default { budget: { rounds: 7 as number }, auth: { secret: 'very-secret-words' } }`)
  line.environment.DAYBOOK_TOKEN = 'token-words'
  line.environment.DAYBOOK_PORT = '4200'
  const { exitCode, text } = await line.run('--model', 'a/b', 'config')
  expect(exitCode).toBe(0)
  expect(text).toMatch(/^model +a\/b +flag$/m)
  expect(text).toMatch(/^port +4200 +DAYBOOK_PORT$/m)
  expect(text).toMatch(/^budget\.rounds +7 +daybook\.config\.ts$/m)
  expect(text).toMatch(/^auth\.secret +\*{8} +daybook\.config\.ts$/m)
  expect(text).toMatch(/^skills +built-in +default$/m)
  expect(text).toMatch(/^knowledge +none +default$/m)
  expect(text).not.toMatch(/very-secret|token-words/)
})

it('reports the mistake in a configuration file', async () => {
  write('daybook.config.js', 'export default { modle: 1 }')
  expect(await line.run('list')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^unknown setting modle in daybook\.config\.js; the settings are model, /),
  })
  write('daybook.config.js', 'export default {') // Node does not import a changed module again, so the second file needs another name
  write('daybook.config.ts', 'export default {')
  expect(await line.run('list')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^daybook\.config\.ts can not be read: [^\n]+$/),
  })
})

it('doctor checks this machine and prints no key', async () => {
  line.environment.OPENAI_API_KEY = 'sk-something-secret'
  line.environment.DAYBOOK_PORT = '0'
  const { exitCode, text } = await line.run('doctor')
  expect(exitCode).toBe(0)
  expect(text).toMatch(/^✓ Node +v2[4-9]/m)
  expect(text).toMatch(/^✓ node:sqlite .*FTS5$/m)
  expect(text).toMatch(/^✓ data folder /m)
  expect(text).toMatch(/^✓ model keys +OPENAI_API_KEY set$/m)
  expect(text).not.toContain('sk-something')
  write('taken', '')
  expect(await line.run('--data', join(line.folder, 'taken', 'data'), 'doctor')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^✗ data folder .*--data/m),
  })
})

it('migrate says when there is nothing to do, and leaves a newer database unchanged', async () => {
  expect((await line.run('migrate')).text).toContain('nothing to do')
  await line.run('run', 'Hello')
  expect((await line.run('migrate')).text).toContain('has the format of this version')
  expect((await line.run('migrate', '--dry-run')).text).toContain('has the format of this version')
  const database = new DatabaseSync(join(line.folder, 'data', 'daybook.db'))
  database.exec('PRAGMA user_version = 999')
  database.close()
  expect(await line.run('migrate')).toMatchObject({ exitCode: 1, text: expect.stringMatching(/^store\.newer: .*update Daybook/) })
})

it('prints scripts with which a shell completes its commands', async () => {
  const { output } = await line.run('completion', 'bash')
  const complete = (...words: readonly string[]) =>
    execFileSync(
      'bash',
      ['-c', `${output}\nCOMP_WORDS=(daybook ${words.join(' ')}); COMP_CWORD=${words.length}; _daybook; echo "\${COMPREPLY[@]}"`],
      { encoding: 'utf8' },
    ).trim()
  expect(complete('com')).toBe('complete completion')
  expect(complete('run', '--att')).toBe('--attach')
  expect((await line.run('completion', 'zsh')).output).toContain('#compdef daybook')
  expect((await line.run('completion', 'fish')).output).toContain('complete -c daybook -n __fish_use_subcommand -a chat')
  expect((await line.run('completion', 'csh')).exitCode).toBe(2)
})

it('explains every command with an example', async () => {
  const { text } = await line.run('--help')
  const commands = [...text.matchAll(/^ {2}([a-z]+) (?:\[|<| {2})/gm)].map(([, name]) => name as string).filter((name) => name !== 'help')
  expect(commands.length).toBeGreaterThan(12)
  for (const command of commands) expect((await line.run(command, '--help')).text, command).toContain('Examples:\n  ')
})
