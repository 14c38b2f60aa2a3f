import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { parseChatLine } from '../chat/chat-commands.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const unfinished = (text: string): Reply => ({ text: reply.answer(text).replace('</channel:answer>', ''), stall: true })

it('answers one line after the other, and leaves at the end of the input', async () => {
  line.setReplies(reply.answer('One.'), reply.answer('Two.'))
  const chat = line.start('chat', '--conversation', 'c1')
  chat.type('first')
  await chat.until('One.')
  chat.type('second')
  await chat.until('Two.')
  chat.endOfInput()
  expect(await chat.exitCode).toBe(0)
  expect(chat.text).toMatch(/to continue: daybook chat --conversation c1\n$/)
})

it('answers the last line of a pipe before it leaves', async () => {
  line.setReplies(reply.answer('Heard.'))
  const chat = line.start('chat')
  chat.type('hello')
  chat.endOfInput()
  expect(await chat.exitCode).toBe(0)
  expect(chat.text).toContain('Heard.')
})

it('shows the last turns of a conversation that is continued', async () => {
  line.setReplies(reply.answer('One.'), reply.answer('Two.'))
  await line.run('run', 'first', '--conversation', 'c1')
  await line.run('run', 'another', '--conversation', 'c1')
  const chat = line.start('chat', '--continue')
  await chat.until('> first')
  await chat.until('One.')
  await chat.until('> another')
  await chat.until('c1 · /help')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('steers and stops the running turn', async () => {
  const model = line.setReplies(unfinished('Wrong way'), unfinished('Right way'))
  const chat = line.start('chat')
  chat.type('go')
  await chat.until('Wrong way')
  chat.type('/steer the other way')
  await chat.until('> the other way')
  await chat.until('Right way')
  chat.type('/stop')
  await chat.until('> (stop)')
  chat.type('/stop')
  await chat.until('no turn is running')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
  expect(JSON.stringify(model.requests.at(-1)?.parts)).toContain('the other way')
})

it('adds a message to the running turn', async () => {
  let resume = () => {}
  const held = new Promise<void>((resolve) => {
    resume = resolve
  })
  const [before = '', after = ''] = reply.answer('The first part').split(/(?<=The first)/)
  line.setReplies(
    { text: before + after, chunks: [before, after], onChunk: (index) => (index === 1 ? held : undefined) },
    reply.answer('Both.'),
  )
  const chat = line.start('chat', '--conversation', 'c1')
  chat.type('one')
  await chat.until('The first')
  chat.type('and two')
  chat.type('/files') // lines are handled in order, so the previous message is accepted when this command is answered
  await chat.until('no files yet')
  resume()
  await chat.until('> and two')
  await chat.until('Both.')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('sends attached files with the next message, lists files, and rejects unknown commands', async () => {
  writeFileSync(join(line.folder, 'notes.txt'), 'nothing much')
  line.setReplies(reply.answer('Read.'))
  const chat = line.start('chat')
  chat.type('/files')
  chat.type('/attach absent.txt')
  await chat.until('cannot read absent.txt')
  chat.type('/attach notes.txt')
  await chat.until('will be sent with your next message: notes.txt')
  chat.type('read it')
  await chat.until('Read.')
  chat.type('/files')
  await chat.until('attachments/notes.txt')
  chat.type('/dance')
  await chat.until('/dance is not a command')
  chat.type('/help')
  await chat.until('/steer <text>')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('starts a new conversation', async () => {
  line.setReplies(reply.answer('One.'))
  const chat = line.start('chat', '--conversation', 'c1')
  await chat.until('c1 · /help')
  chat.type('/new')
  await chat.until(/c_[0-9a-f]{12} · \/help/)
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('prints no control characters of the model', async () => {
  line.setReplies(reply.answer('\x1b]0;owned\x07 and \x9b2J'))
  const chat = line.start('chat')
  chat.type('go')
  await chat.until('and')
  chat.endOfInput()
  await chat.exitCode
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the subject of this test
  expect(chat.text).not.toMatch(/[\x07\x1b\x9b]/)
})

it.each([
  ['hello', { kind: 'message', text: 'hello' }],
  ['//etc is a folder', { kind: 'message', text: '/etc is a folder' }],
  ['  ', { kind: 'empty' }],
  ['/steer go left', { kind: 'steer', text: 'go left' }],
  ['/steer', { kind: 'unknown', name: 'steer' }],
  ['/quit', { kind: 'quit' }],
  ['/', { kind: 'unknown', name: '' }],
])('parses %j', (text, command) => {
  expect(parseChatLine(text)).toEqual(command)
})
