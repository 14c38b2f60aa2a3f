import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { codeBlocks, writtenPages } from './support/docs/pages.ts'

// The folder is in the checkout, so that the blocks can import `daybook` by its name. Git ignores it.
const folder = '.docs-code'
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const blocks = writtenPages.flatMap(codeBlocks)

/** Names that blocks use and that their page explains in words, such as `weather`, a tool. test/support/docs/prelude.ts has their values. */
const prelude = `
import type { Agent, Model, Tool } from 'daybook'
declare global {
  const createAgent: typeof import('daybook').createAgent
  const agent: Agent
  const model: Model
  const weather: Tool
  const sendMail: Tool
  const documents: import('daybook').DocumentReader
  const openOrders: (conversationId: string) => number
  const apiKey: string
  const conversationId: string
  const text: string
  const eventId: string
  const myRow: (typeof import('daybook/models').prices)[number]
}
`

it('every TypeScript block of the documents has right types', () => {
  expect(blocks.length).toBeGreaterThan(40)
  mkdirSync(folder, { recursive: true })
  const files = new Map(blocks.map((block, n) => [`block-${n}.ts`, block]))
  for (const [file, { code }] of files) writeFileSync(join(folder, file), `${code}\nexport {}\n`)
  writeFileSync(join(folder, 'prelude.d.ts'), prelude)
  // files that blocks import, and a package that is not installed here
  writeFileSync(join(folder, 'weather.ts'), "import type { Tool } from 'daybook'\nexport declare const weather: Tool\n")
  writeFileSync(join(folder, 'tracing.ts'), 'export {}\n')
  for (const name of ['own-store.ts', 'shop-tools.ts']) writeFileSync(join(folder, name), readFileSync(`examples/${name}`))
  cpSync('examples/workflows', join(folder, 'workflows'), { recursive: true })
  writeFileSync(
    join(folder, 'packages.d.ts'),
    "declare module '@opentelemetry/exporter-trace-otlp-http' { export class OTLPTraceExporter { export(): void; shutdown(): Promise<void> } }\n",
  )
  const options = {
    noUnusedLocals: false,
    noUnusedParameters: false,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
  }
  const config = { extends: '../tsconfig.json', compilerOptions: { ...options, lib: ['es2024', 'dom'] }, include: ['*.ts'], exclude: [] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  let output = ''
  try {
    execFileSync('node_modules/.bin/tsc', ['-p', folder, '--pretty', 'false'], { encoding: 'utf8' })
  } catch (error) {
    output = (error as { stdout: string }).stdout
  }
  const errors = output
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(' '))
    .map((line) => line.replace(/^(?:\.docs-code\/)?(block-\d+\.ts)/, (_, file: string) => files.get(file)?.where ?? file))
  expect(errors).toEqual([])
})
