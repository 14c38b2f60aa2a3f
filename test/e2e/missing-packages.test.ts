import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { lease } from '../support/offline-documents.ts'

const repository = resolve(import.meta.dirname, '..', '..')
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'optionalDependencies',
  Readonly<Record<string, string>>
>

/** A copy of Daybook without its optional packages. npm leaves these out without a message if they need a newer Node. */
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'daybook-packages-'))
  for (const name of ['src', 'bin', 'package.json']) cpSync(join(repository, name), join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  for (const name of Object.keys(dependencies)) symlinkSync(join(repository, 'node_modules', name), join(folder, 'node_modules', name))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function daybook(...args: readonly string[]): Promise<{ readonly exitCode: number; readonly text: string }> {
  const command = [join(folder, 'bin', 'daybook.js'), '--data', join(folder, 'data'), ...args]
  const env = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'sk-test', DAYBOOK_PORT: '0' }
  const run = promisify(execFile)(process.execPath, command, { cwd: folder, env })
  return run.then(
    ({ stdout, stderr }) => ({ exitCode: 0, text: `${stdout}${stderr}`.trim() }),
    ({ code, stdout, stderr }) => ({ exitCode: code, text: `${stdout}${stderr}`.trim() }),
  )
}

it('a model whose package is not installed is refused before the turn, with the command that installs it', async () => {
  const { exitCode, text } = await daybook('--model', 'anthropic/claude-sonnet-5-5', 'run', 'Hello')
  expect(exitCode).toBe(1)
  expect(text).toMatch(
    /^model\.unavailable: [^\n]*@ai-sdk\/anthropic is not installed: [^\n]*npm install @ai-sdk\/anthropic[^\n]*Node 24[^\n]*$/,
  )
})

it('a PDF without the package that reads it: the answer names the package', async () => {
  writeFileSync(join(folder, lease.name), lease.content)
  const { text } = await daybook('run', 'Who is the tenant?', '--attach', join(folder, lease.name))
  expect(text).toMatch(/pdfjs-dist is not installed: .*npm install pdfjs-dist.*Node 24/)
  expect(text).not.toContain('our side')
})

it('a server without its packages says in one line which one is missing', async () => {
  const { exitCode, text } = await daybook('serve')
  expect(exitCode).toBe(1)
  expect(text).toMatch(/^the package \S+ is not installed: [^\n]*npm install [^\n]*Node 24[^\n]*$/)
})

it('telemetry without its package says which one is missing, and without telemetry the package is not needed', async () => {
  expect((await daybook('run', 'Hello')).exitCode).toBe(0)
  writeFileSync(join(folder, 'daybook.config.js'), "export default { telemetry: 'opentelemetry' }")
  const { exitCode, text } = await daybook('run', 'Hello')
  rmSync(join(folder, 'daybook.config.js'))
  expect(exitCode).toBe(1)
  expect(text).toMatch(/^the package @opentelemetry\/api is not installed: [^\n]*npm install @opentelemetry\/api[^\n]*$/)
})

it('doctor names every package that is not installed', async () => {
  const line = /^! packages +(.*)$/m.exec((await daybook('doctor')).text)?.[1] ?? ''
  for (const name of Object.keys(optionalDependencies)) expect(line).toContain(name)
  expect(line).toMatch(/npm install.*Node 24/)
})

it('doctor names only what documents lack', async () => {
  const others = Object.keys(optionalDependencies).filter((name) => name !== 'docx')
  const paths = others.map((name) => join(folder, 'node_modules', name))
  for (const [n, path] of paths.entries()) {
    mkdirSync(join(path, '..'), { recursive: true })
    symlinkSync(join(repository, 'node_modules', others[n] as string), path)
  }
  const { text } = await daybook('doctor')
  const advice = /^! documents +.*: (docx needs? .*|png, docx need .*)$/m.exec(text)?.[1]
  const withoutBrowser = 'png, docx need the package docx, and Chromium or Chrome (apt-get install chromium)'
  expect(['docx needs the package docx', withoutBrowser]).toContain(advice)
  for (const path of paths) rmSync(path)
})

it('npm prints no warnings about the version of Node in a checkout', async () => {
  const checkout = join(folder, 'checkout')
  mkdirSync(join(checkout, 'newer'), { recursive: true })
  cpSync(join(repository, '.npmrc'), join(checkout, '.npmrc'))
  writeFileSync(join(checkout, 'newer', 'package.json'), JSON.stringify({ name: 'newer', version: '1.0.0', engines: { node: '>=999' } }))
  writeFileSync(join(checkout, 'package.json'), JSON.stringify({ name: 'checkout', dependencies: { newer: 'file:newer' } }))
  const { stdout, stderr } = await promisify(execFile)('npm', ['install', '--offline'], { cwd: checkout })
  expect(stdout + stderr).not.toContain('EBADENGINE')
})
