import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'

let line: CommandLine
beforeEach(async () => {
  line = createCommandLine()
  writeFileSync(join(line.folder, 'a.csv'), 'a,b\n1,2\n')
  const run = await line.run('run', 'Make a report file of a.csv', '--attach', 'a.csv', '--conversation', 'c1')
  expect(run.errors).toContain('to save its file: daybook files c1 --save .\n')
})
afterEach(() => line.remove())

it('lists the files of a conversation', async () => {
  const { exitCode, output } = await line.run('files', 'c1')
  expect(exitCode).toBe(0)
  expect(output.split('\n')).toEqual([
    expect.stringMatching(/^attached {2}a\.csv +8 bytes {2}text\/csv$/),
    expect.stringMatching(/^made {6}report\.md {2}\d+ bytes {2}text\/markdown$/),
    '',
  ])
})

it('saves the files that the agent made, and overwrites none', async () => {
  writeFileSync(join(line.folder, 'report.md'), 'mine')
  expect((await line.run('files', 'c1', '--save', '.')).output).toBe('saved report-2.md\n')
  expect(readFileSync(join(line.folder, 'report.md'), 'utf8')).toBe('mine')
  expect(readFileSync(join(line.folder, 'report-2.md'), 'utf8')).toMatch(/^# Report on a\.csv/)
  expect((await line.run('files', 'c1', '--save', 'new/folder')).output).toBe('saved new/folder/report.md\n')
  expect(readdirSync(join(line.folder, 'new', 'folder'))).toEqual(['report.md'])
})

it('does the same with a server', async () => {
  const server = line.start('serve', '--port', '0')
  const [url = ''] = /http:\S+/.exec(await server.until(/daybook is at \S+\n/)) ?? []
  expect((await line.run('files', 'c1', '--server', url)).output).toBe((await line.run('files', 'c1')).output)
  mkdirSync(join(line.folder, 'out'))
  expect((await line.run('files', 'c1', '--server', url, '--save', 'out')).output).toBe('saved out/report.md\n')
  expect(readFileSync(join(line.folder, 'out', 'report.md'), 'utf8')).toMatch(/^# Report on a\.csv/)
  server.end()
  await server.exitCode
})

it('says in one line what can not be done', async () => {
  expect(await line.run('files', 'c2')).toMatchObject({ exitCode: 1, text: expect.stringMatching(/^conversation\.missing: [^\n]+$/) })
  expect(await line.run('files', 'c1', '--save', 'a.csv')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^cannot save into a\.csv: [^\n]+$/),
  })
  await line.run('run', 'Hello', '--conversation', 'c3')
  expect(await line.run('files', 'c3')).toMatchObject({ exitCode: 0, text: 'no files' })
  expect(await line.run('files', 'c3', '--save', 'empty')).toMatchObject({ exitCode: 0, text: 'the agent has made no files' })
})
