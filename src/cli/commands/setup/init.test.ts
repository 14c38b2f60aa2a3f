import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../../test/support/command-line.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const names = ['.gitignore', 'README.md', 'agent.test.ts', 'agent.ts', 'daybook.config.ts', 'package.json', 'tsconfig.json']
const read = (...path: readonly string[]) => readFileSync(join(line.folder, ...path), 'utf8')

it('writes a project into a new folder, and says what to do next', async () => {
  const { exitCode, output } = await line.run('init', 'My Agent')
  expect(exitCode).toBe(0)
  expect(readdirSync(join(line.folder, 'My Agent')).toSorted()).toEqual(names)
  expect(output).toContain('cd "My Agent"')
  expect(output).toContain('npm install')
  expect(output).toContain('npm test')
  const { name, version, type, dependencies, devDependencies, scripts } = JSON.parse(read('My Agent', 'package.json'))
  const own = JSON.parse(readFileSync('package.json', 'utf8'))
  expect({ name, version, type, dependencies }).toEqual({
    name: 'my-agent',
    version: '0.1.0',
    type: 'module',
    dependencies: { daybook: `^${own.version}`, zod: `^${own.dependencies.zod}` },
  })
  expect(devDependencies.typescript).toBe(`^${own.devDependencies.typescript}`)
  expect(scripts.check).toBe('tsc')
  expect(read('My Agent', '.gitignore')).toContain('.daybook')
})

it('writes into the current folder without an argument, and keeps other files', async () => {
  writeFileSync(join(line.folder, 'notes.txt'), 'mine')
  expect((await line.run('init')).exitCode).toBe(0)
  expect(readdirSync(line.folder)).toEqual(expect.arrayContaining([...names, 'notes.txt']))
})

it('the project passes its own test', async () => {
  await line.run('init', 'app')
  const folder = join(line.folder, 'app')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(resolve('node_modules/zod'), join(folder, 'node_modules/zod'))
  symlinkSync(resolve('.'), join(folder, 'node_modules/daybook'))
  const report = execFileSync(process.execPath, ['--conditions=daybook-source', '--test'], { cwd: folder, encoding: 'utf8' })
  expect(report).toMatch(/pass 1\n.*fail 0/s)
})

it.each(names)('writes nothing if there is already a file %s', async (name) => {
  mkdirSync(join(line.folder, 'app'))
  writeFileSync(join(line.folder, 'app', name), 'mine')
  const { exitCode, errors } = await line.run('init', 'app')
  expect(exitCode).toBe(1)
  expect(errors).toBe(`app/${name} is already there; nothing was written. Choose another folder: daybook init <folder>\n`)
  expect(readdirSync(join(line.folder, 'app'))).toEqual([name])
  expect(read('app', name)).toBe('mine')
})

it('says why a folder can not be used', async () => {
  writeFileSync(join(line.folder, 'file'), 'mine')
  const { exitCode, errors } = await line.run('init', 'file')
  expect(exitCode).toBe(1)
  expect(errors).toMatch(/^cannot write into file: .+\n$/)
  expect(existsSync(join(line.folder, 'package.json'))).toBe(false)
})
