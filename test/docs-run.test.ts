import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeProvider, startFakeProvider } from '../src/testing/fake-providers/fake-provider.ts'
import { reply } from '../src/testing/index.ts'
import { codeBlocks, writtenPages } from './support/docs/pages.ts'
import { pdf } from './support/sample-files/pdf.ts'

const run = promisify(execFile)

// The folder is in the checkout, so that the blocks can import `daybook` by its name. Git ignores it.
const folder = '.docs-run'
let provider: FakeProvider
beforeAll(async () => {
  provider = await startFakeProvider(
    'anthropic',
    Array.from(
      { length: 100 },
      () =>
        ({ body }) =>
          answerOf(JSON.stringify(body)),
    ),
  )
})
afterAll(async () => {
  await provider.close()
  rmSync(folder, { recursive: true, force: true })
})

/** What a model would do about the refund of the pages "Coming from …". The call for a title gets a text, too. */
const answerOf = (body: string): string =>
  body.includes('shop.refund') && !body.includes('paid back')
    ? reply.call('shop.refund', { order: '12', amount: 80 })
    : reply.answer('Order 12 is paid back.')

/** Blocks with code of other libraries: an exporter that is not installed here, and an agent of the AI SDK, which would need its provider. */
const isForeign = (code: string): boolean => /from '(?:@opentelemetry\/exporter-trace-otlp-http|ai)'/.test(code)
const isTest = (code: string): boolean => code.includes("from 'vitest'")

// test/reference.test.ts runs the examples
const blocks = writtenPages.flatMap(codeBlocks).filter(({ isExample, code }) => !isExample && !isForeign(code))

function writeBlock(code: string, n: number): string {
  const home = join(folder, `block-${n}`)
  mkdirSync(home, { recursive: true })
  const { privateKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  writeFileSync(join(home, 'private.pem'), privateKey)
  writeFileSync(join(home, 'report.pdf'), pdf(['Rain fell on 12 days in May.']))
  writeFileSync(join(home, 'tracing.ts'), 'export {}\n')
  cpSync('test/support/docs/weather.ts', join(home, 'weather.ts'))
  const file = join(home, isTest(code) ? 'block.test.ts' : 'block.ts')
  writeFileSync(file, code)
  return file
}

it('every TypeScript block of the documents runs', async () => {
  const programs = blocks.filter(({ code }) => !isTest(code))
  expect(programs.length).toBeGreaterThan(40)
  const files = programs.map(({ code }, n) => writeBlock(code, n))
  const environment = { ...process.env, ...provider.environment, OPENAI_API_KEY: 'a-key-that-is-not-used' }
  const { stderr } = await run(process.execPath, ['--conditions=daybook-source', 'test/support/docs/run-blocks.ts', ...files], {
    env: environment,
  })
  const failed = stderr.split('\n').flatMap((line) => {
    if (!line.startsWith('{"file":')) return []
    const { file, message } = JSON.parse(line) as { readonly file: string; readonly message: string }
    return [`${programs[files.indexOf(file)]?.where}: ${message}`]
  })
  expect(failed).toEqual([])
  expect(stderr).toContain('all blocks have run')
})

it('every test in the documents passes', async () => {
  const tests = blocks.filter(({ code }) => isTest(code))
  expect(tests.length).toBeGreaterThan(2)
  tests.forEach(({ code }, n) => {
    writeBlock(code, 1_000 + n)
  })
  const config = `export default { root: '.', ssr: { resolve: { conditions: ['daybook-source', 'module', 'node'] } },
    test: { testTimeout: 60_000, include: ['block-*/block.test.ts'], setupFiles: [${JSON.stringify(resolve('test/support/docs/prelude.ts'))}] } }`
  writeFileSync(join(folder, 'vitest.config.mjs'), config)
  const { stdout } = await run(resolve('node_modules/.bin/vitest'), ['run', '--config', 'vitest.config.mjs'], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
  })
  expect(stdout).toMatch(new RegExp(`Tests +${tests.length} passed`))
})
