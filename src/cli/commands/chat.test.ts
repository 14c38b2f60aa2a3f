import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { answers, type Reply } from '../../testing/scripted-model.ts'
import { parseChatLine } from '../chat/chat-commands.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const unfinished = (text: string): Reply => ({ text: answers(text).replace('</channel:answer>', ''), stall: true })

it('answers line after line, and leaves when the lines end', async () => {
  line.says(answers('One.'), answers('Two.'))
  const chat = line.start('chat', '--conversation', 'c1')
  chat.type('first')
  await chat.until('One.')
  chat.type('second')
  await chat.until('Two.')
  chat.endOfInput()
  expect(await chat.exitCode).toBe(0)
  expect(chat.text).toMatch(/to go on: daybook chat --conversation c1\n$/)
})

it('answers what a pipe says before it leaves', async () => {
  line.says(answers('Heard.'))
  const chat = line.start('chat')
  chat.type('hello')
  chat.endOfInput()
  expect(await chat.exitCode).toBe(0)
  expect(chat.text).toContain('Heard.')
})

it('shows what happened before when it goes on', async () => {
  line.says(answers('One.'), answers('Two.'))
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

it('steers and stops what is running', async () => {
  const model = line.says(unfinished('Wrong way'), unfinished('Right way'))
  const chat = line.start('chat')
  chat.type('go')
  await chat.until('Wrong way')
  chat.type('/steer the other way')
  await chat.until('> the other way')
  await chat.until('Right way')
  chat.type('/stop')
  await chat.until('> (stop)')
  chat.type('/stop')
  await chat.until('nothing is running')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
  expect(JSON.stringify(model.requests.at(-1)?.parts)).toContain('the other way')
})

it('adds to a turn what is said while it runs', async () => {
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const [before = '', after = ''] = answers('The first part').split(/(?<=The first)/)
  line.says({ text: before + after, chunks: [before, after], onChunk: (index) => (index === 1 ? held : undefined) }, answers('Both.'))
  const chat = line.start('chat', '--conversation', 'c1')
  chat.type('one')
  await chat.until('The first')
  chat.type('and two')
  chat.type('/files') // one after the other: once this is answered, what was said before it is taken
  await chat.until('no files yet')
  goOn()
  await chat.until('> and two')
  await chat.until('Both.')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('attaches files to what is said next, lists them, and names what it does not know', async () => {
  writeFileSync(join(line.folder, 'notes.txt'), 'nothing much')
  line.says(answers('Read.'))
  const chat = line.start('chat')
  chat.type('/files')
  chat.type('/attach absent.txt')
  await chat.until('cannot read absent.txt')
  chat.type('/attach notes.txt')
  await chat.until('goes along with what you say next: notes.txt')
  chat.type('read it')
  await chat.until('Read.')
  chat.type('/files')
  await chat.until('attachments/notes.txt')
  chat.type('/dance')
  await chat.until('there is no /dance')
  chat.type('/help')
  await chat.until('/steer <text>')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('begins another conversation', async () => {
  line.says(answers('One.'))
  const chat = line.start('chat', '--conversation', 'c1')
  await chat.until('c1 · /help')
  chat.type('/new')
  await chat.until(/c_[0-9a-f]{12} · \/help/)
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('shows no sign that a terminal would obey, whoever wrote it', async () => {
  line.says(answers('\x1b]0;owned\x07 and \x9b2J'))
  const chat = line.start('chat')
  chat.type('go')
  await chat.until('and')
  chat.endOfInput()
  await chat.exitCode
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
  expect(chat.text).not.toMatch(/[\x07\x1b\x9b]/)
})

it.each([
  ['hello', { kind: 'say', text: 'hello' }],
  ['//etc is a folder', { kind: 'say', text: '/etc is a folder' }],
  ['  ', { kind: 'nothing' }],
  ['/steer go left', { kind: 'steer', text: 'go left' }],
  ['/steer', { kind: 'unknown', word: 'steer' }],
  ['/quit', { kind: 'quit' }],
  ['/', { kind: 'unknown', word: '' }],
])('reads %j', (text, word) => {
  expect(parseChatLine(text)).toEqual(word)
})
