import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import { localScope } from '../../core/scope.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { createPageReader } from '../documents/page/reader.ts'
import { createPdfReader } from '../documents/pdf.ts'
import { parseYaml } from '../skills/yaml.ts'
import { listFolder } from './folder.ts'
import { openKnowledge } from './knowledge.ts'

let folder: string
const closers: (() => Promise<void>)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'knowledge-'))
  mkdirSync(join(folder, 'docs'))
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  rmSync(folder, { recursive: true, force: true })
})

function open(documents: DocumentReader) {
  const pages = createPageReader({ timeoutMs: 60_000 })
  const knowledge = openKnowledge({
    folders: [{ name: 'docs', path: join(folder, 'docs') }],
    index: join(folder, 'index.db'),
    readers: { documents, pages: async () => pages, yaml: parseYaml },
    waitMs: 120_000,
  })
  closers.push(
    () => knowledge.close(),
    () => pages.close(),
  )
  return knowledge
}

const noReader: DocumentReader = { pdf: () => Promise.reject(new Error('no PDF is expected')) }
const call = { scope: localScope, signal: new AbortController().signal }
const search = (knowledge: ReturnType<typeof open>, query: string) =>
  knowledge.search({ query, root: 'ks:', maxHits: 5, keywords: [] }, call)

it('the end of a large HTML file is found', async () => {
  const chapter = (n: number) => `<h2>Chapter ${n}</h2><p>${`The valve ${n} is checked before the pump starts. `.repeat(40)}</p>`
  const chapters = Array.from({ length: 700 }, (_, n) => chapter(n))
  const html = `<html><body><article>${chapters.join('\n')}<h2>Last</h2><p>The xylophone is tuned.</p></article></body></html>`
  expect(html.length).toBeGreaterThan(1_200_000)
  writeFileSync(join(folder, 'docs/manual.html'), html)
  const knowledge = open(noReader)
  expect((await knowledge.update()).problems).toEqual([])
  const [hit] = await search(knowledge, 'xylophone tuned')
  expect(hit).toMatchObject({ path: expect.stringMatching(/^ks:docs\/manual\.html#/), summary: expect.stringContaining('xylophone') })
}, 120_000)

it.skipIf(process.platform !== 'linux')('a file or folder whose name is not UTF-8 is reported', async () => {
  const named = (...bytes: number[]) => Buffer.concat([Buffer.from(join(folder, 'docs/')), Buffer.from(bytes)])
  writeFileSync(named(0x66, 0xfc, 0x72, 0x2e, 0x6d, 0x64), '# Lost')
  mkdirSync(named(0xe9, 0x74, 0xe9))
  writeFileSync(join(folder, 'docs/\ufffd.md'), '# A real name with this character')
  const { files, leftOut } = await listFolder({ name: 'docs', path: join(folder, 'docs') })
  expect(files.map(({ path }) => path)).toEqual(['\ufffd.md'])
  const problem = 'has a name that is not UTF-8'
  expect(leftOut).toEqual([
    { path: 'f\ufffdr.md', problem },
    { path: '\ufffdt\ufffd', problem },
  ])
})

it('a PDF that takes too long is read twice, then reported until it changes', async () => {
  const bomb = pdf(['x'], { contents: Buffer.alloc(96 * 1024 * 1024, '(a) Tj ') })
  expect(bomb.length).toBeLessThan(4 * 1024 * 1024)
  writeFileSync(join(folder, 'docs/bomb.pdf'), bomb)
  writeFileSync(join(folder, 'docs/good.md'), '# Good\nThe harbour opens at nine.')
  const [hasty, patient] = [createPdfReader({ timeoutMs: 1 }), createPdfReader({ timeoutMs: 60_000 })]
  closers.push(hasty.close, patient.close)
  let reads = 0
  const counting: DocumentReader = {
    pdf(bytes, options) {
      reads++
      return (bytes.length > 50_000 ? hasty : patient).pdf(bytes, options)
    },
  }
  const knowledge = open(counting)
  for (let update = 0; update < 4; update++)
    expect((await knowledge.update()).problems).toEqual([
      { path: 'ks:docs/bomb.pdf', problem: expect.stringMatching(/^can not be read: the PDF can not be read: /) },
    ])
  expect(reads).toBe(2)
  expect(await search(knowledge, 'harbour')).toHaveLength(1)
  writeFileSync(join(folder, 'docs/bomb.pdf'), pdf(['The tide table']))
  expect((await knowledge.update()).problems).toEqual([])
  expect(await search(knowledge, 'tide')).toHaveLength(1)
}, 120_000)

it('a folder with more files than the limit is read up to it, in the order of the names, and reported', async () => {
  for (let n = 0; n < 25; n++) writeFileSync(join(folder, 'docs', `${String(n).padStart(2, '0')}.md`), `# ${n}`)
  const { files, leftOut } = await listFolder({ name: 'docs', path: join(folder, 'docs') }, { maxFiles: 20 })
  expect(files.map(({ path }) => path)).toEqual(Array.from({ length: 20 }, (_, n) => `${String(n).padStart(2, '0')}.md`))
  expect(leftOut).toEqual([{ path: '', problem: 'has more than 20 files, and the others are left out' }])
  expect((await listFolder({ name: 'docs', path: join(folder, 'docs') }, { maxFiles: 25 })).leftOut).toEqual([])
})
