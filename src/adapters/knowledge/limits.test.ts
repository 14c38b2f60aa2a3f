import { mkdirSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { createKnowledgeFolder, knowledgeCall, knowledgeQuery } from '../../../test/support/knowledge-folder.ts'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { createPdfReader } from '../documents/pdf.ts'
import { listFolder } from './folder.ts'

let base: ReturnType<typeof createKnowledgeFolder>
beforeEach(() => {
  base = createKnowledgeFolder()
})
afterEach(() => base.remove())

const docsFolder = () => ({ name: 'docs', path: base.docs })

it('the end of a large HTML file is found', async () => {
  const chapter = (n: number) => `<h2>Chapter ${n}</h2><p>${`The valve ${n} is checked before the pump starts. `.repeat(40)}</p>`
  const chapters = Array.from({ length: 700 }, (_, n) => chapter(n))
  const html = `<html><body><article>${chapters.join('\n')}<h2>Last</h2><p>The xylophone is tuned.</p></article></body></html>`
  expect(html.length).toBeGreaterThan(1_200_000)
  base.write({ 'manual.html': html })
  const knowledge = base.open()
  expect((await knowledge.update()).problems).toEqual([])
  const [hit] = await knowledge.search(knowledgeQuery('xylophone tuned'), knowledgeCall)
  expect(hit).toMatchObject({ path: expect.stringMatching(/^ks:docs\/manual\.html#/), summary: expect.stringContaining('xylophone') })
}, 120_000)

it.skipIf(process.platform !== 'linux')('a file or folder whose name is not UTF-8 is reported', async () => {
  const named = (...bytes: number[]) => Buffer.concat([Buffer.from(`${base.docs}/`), Buffer.from(bytes)])
  writeFileSync(named(0x66, 0xfc, 0x72, 0x2e, 0x6d, 0x64), '# Lost')
  mkdirSync(named(0xe9, 0x74, 0xe9))
  base.write({ '\ufffd.md': '# A real name with this character' })
  const { files, leftOut } = await listFolder(docsFolder())
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
  base.write({ 'bomb.pdf': bomb, 'good.md': '# Good\nThe harbour opens at nine.' })
  const [hasty, patient] = [createPdfReader({ timeoutMs: 1 }), createPdfReader({ timeoutMs: 60_000 })]
  onTestFinished(async () => {
    await hasty.close()
    await patient.close()
  })
  let reads = 0
  const counting: DocumentReader = {
    pdf(bytes, options) {
      reads++
      return (bytes.length > 50_000 ? hasty : patient).pdf(bytes, options)
    },
  }
  const knowledge = base.open({ documents: counting })
  for (let update = 0; update < 4; update++)
    expect((await knowledge.update()).problems).toEqual([
      { path: 'ks:docs/bomb.pdf', problem: expect.stringMatching(/^can not be read: the PDF can not be read: /) },
    ])
  expect(reads).toBe(2)
  expect(await knowledge.search(knowledgeQuery('harbour'), knowledgeCall)).toHaveLength(1)
  base.write({ 'bomb.pdf': pdf(['The tide table']) })
  expect((await knowledge.update()).problems).toEqual([])
  expect(await knowledge.search(knowledgeQuery('tide'), knowledgeCall)).toHaveLength(1)
}, 120_000)

it('a folder with more files than the limit is read up to it, in the order of the names, and reported', async () => {
  for (let n = 0; n < 25; n++) base.write({ [`${String(n).padStart(2, '0')}.md`]: `# ${n}` })
  const { files, leftOut } = await listFolder(docsFolder(), { maxFiles: 20 })
  expect(files.map(({ path }) => path)).toEqual(Array.from({ length: 20 }, (_, n) => `${String(n).padStart(2, '0')}.md`))
  expect(leftOut).toEqual([{ path: '', problem: 'has more than 20 files, and the others are left out' }])
  expect((await listFolder(docsFolder(), { maxFiles: 25 })).leftOut).toEqual([])
})
