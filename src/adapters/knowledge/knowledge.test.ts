import { rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { knowledgeCall as call, createKnowledgeFolder, knowledgeQuery as query } from '../../../test/support/knowledge-folder.ts'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import type { KnowledgeQuery } from '../../ports/knowledge.ts'
import { parseYaml } from '../skills/yaml.ts'
import type { LeftOut } from './folder.ts'
import type { IndexProgress } from './indexer.ts'
import type { FolderKnowledge } from './knowledge.ts'
import { readDocument } from './read-document.ts'

let base: ReturnType<typeof createKnowledgeFolder>
beforeEach(() => {
  base = createKnowledgeFolder()
})
afterEach(() => base.remove())

const pathsOf = async (knowledge: FolderKnowledge, text: string, more: Partial<KnowledgeQuery> = {}) =>
  (await knowledge.search(query(text, more), call)).map(({ path }) => path)

const guide = [
  '---',
  'title: The guide',
  'tags: [manual, setup]',
  'url: https://docs.example/guide',
  'summary: How to set it up.',
  '---',
  '# Guide',
  'Welcome.',
  '## Installation',
  'Run the installer. It needs a **licence key** from the administrator.',
  '## Billing',
  'Invoices are sent on the first day of a month.',
  '### Refunds',
  'A refund takes ten days.',
].join('\n')

describe('a folder of documents', () => {
  it('is found by sections of Markdown, HTML, PDF, text and code', async () => {
    base.write({
      'guide.md': guide,
      'page.html':
        '<html><head><title>Pumps</title></head><body><main><h1>Pumps</h1><p>The centrifugal pump lifts water from the well every day of the week.</p><h2>Care</h2><p>Replace its sealing ring after one thousand hours of work, or earlier.</p></main></body></html>',
      'paper.pdf': pdf(['Photosynthesis begins.', 'Chlorophyll absorbs red light.']),
      'src/userParser.ts': `${'// filler\n'.repeat(90)}export function parseUserName(text: string) { return text.trim() }\n`,
      'notes.txt': 'The garden gate code is 4711.',
    })
    const knowledge = base.open()
    expect(await knowledge.update()).toEqual({ documents: 5, indexed: 5, removed: 0, problems: [] })
    expect(await knowledge.search(query('Where do I get a license key for installing?', { keywords: ['licence'] }), call)).toMatchObject([
      {
        path: 'ks:docs/guide.md#installation',
        title: 'The guide',
        summary: expect.stringContaining('licence key'),
        headings: ['Guide', 'Installation'],
        tags: ['manual', 'setup'],
        url: 'https://docs.example/guide',
      },
    ])
    expect((await pathsOf(knowledge, 'sealing ring'))[0]).toBe('ks:docs/page.html#care')
    expect((await pathsOf(knowledge, 'chlorophyll light'))[0]).toBe('ks:docs/paper.pdf#page-2')
    expect((await pathsOf(knowledge, 'parse user name'))[0]).toBe('ks:docs/src/userParser.ts#L81-91')
    expect(await pathsOf(knowledge, 'gate code')).toEqual(['ks:docs/notes.txt'])
    expect(await pathsOf(knowledge, 'gate code', { root: 'ks:docs/src/' })).toEqual([])
    expect(await pathsOf(knowledge, 'the of and')).toEqual([])
    expect(await pathsOf(knowledge, '" OR * NEAR( ^')).toEqual([])
  })

  it('is read whole, by section with what is below it, and as a list', async () => {
    base.write({ 'guide.md': guide, 'sub/a.txt': 'A', 'name#1.txt': 'hash' })
    const knowledge = base.open()
    const textAt = async (path: string) => (await knowledge.read(path, call))?.text
    expect(await textAt('ks:docs/guide.md')).toBe(guide.slice(guide.indexOf('# Guide')))
    expect(await textAt('ks:docs/guide.md#billing')).toBe(guide.slice(guide.indexOf('## Billing')))
    expect(await textAt('ks:docs/guide.md#Installation')).toMatch(/^## Installation\nRun/)
    expect(await textAt('ks:docs/name#1.txt')).toBe('hash')
    expect(await knowledge.read('ks:docs/guide.md#nowhere', call)).toBeUndefined()
    expect(await knowledge.read('ks:docs/guide.md', call)).toMatchObject({
      mime: 'text/markdown',
      source: { url: 'https://docs.example/guide', title: 'The guide', text: 'How to set it up.' },
    })
    expect((await knowledge.read('ks:docs/sub/a.txt', call))?.source).toMatchObject({ url: 'ks:docs/sub/a.txt', title: 'a.txt' })
    expect(await textAt('ks:docs')).toBe(
      'ks:docs/ has 3 entries:\n- ks:docs/guide.md | The guide\n- ks:docs/name#1.txt | name#1.txt\n- ks:docs/sub/a.txt | a.txt',
    )
    expect(await textAt('ks:docs/sub')).toBe('ks:docs/sub/ has 1 entry:\n- ks:docs/sub/a.txt | a.txt')
  })

  it('is read again only where files have changed, by their content', async () => {
    base.write({ 'a.md': '# A\napples', 'b.md': '# B\npears', 'c.md': '# C\nplums' })
    expect(await base.open().update()).toMatchObject({ documents: 3, indexed: 3 })
    const steps: IndexProgress[] = []
    const later = base.open({ onProgress: (step) => steps.push(step) })
    expect(await later.update()).toMatchObject({ documents: 3, indexed: 0, removed: 0 })
    utimesSync(join(base.docs, 'a.md'), 1, 1) // another time, the same content
    base.write({ 'b.md': '# B\ncherries' })
    rmSync(join(base.docs, 'c.md'))
    expect(await later.update()).toEqual({ documents: 2, indexed: 2, removed: 1, problems: [] })
    expect(steps).toEqual([
      { done: 1, total: 2 },
      { done: 2, total: 2 },
    ])
    expect(await pathsOf(later, 'pears')).toEqual([])
    expect(await pathsOf(later, 'plums')).toEqual([])
    expect(await pathsOf(later, 'cherry')).toEqual(['ks:docs/b.md'])
    expect(await pathsOf(later, 'apple')).toEqual(['ks:docs/a.md'])
  })

  it('has an index that can be deleted at any time, and a damaged index is made again', async () => {
    base.write({ 'a.md': '# A\napples' })
    await base.open().update()
    await base.close()
    writeFileSync(join(base.folder, 'index.db'), 'this is not a database, but it is long enough to look like a file of one '.repeat(20))
    const knowledge = base.open()
    expect(await pathsOf(knowledge, 'apples')).toEqual(['ks:docs/a.md'])
    await base.close()
    rmSync(join(base.folder, 'index.db'))
    expect(await pathsOf(base.open(), 'apples')).toEqual(['ks:docs/a.md'])
  })

  it('gives the changed text of a file at once, even before a search has noticed the change', async () => {
    base.write({ 'a.md': '# A\napples' })
    const knowledge = base.open()
    expect((await knowledge.read('ks:docs/a.md', call))?.text).toContain('apples')
    base.write({ 'a.md': '# A\nbananas are yellow' })
    expect((await knowledge.read('ks:docs/a.md', call))?.text).toContain('bananas')
    rmSync(join(base.docs, 'a.md'))
    expect(await knowledge.read('ks:docs/a.md', call)).toBeUndefined()
  })

  it('keeps its documents while its disk is away, and says so', async () => {
    base.write({ 'a.md': '# A\napples' })
    await base.open().update()
    rmSync(base.docs, { recursive: true })
    const knowledge = base.open()
    expect(await knowledge.update()).toMatchObject({
      documents: 1,
      removed: 0,
      problems: [{ path: 'ks:docs/', problem: expect.stringMatching(/^can not be read: ENOENT/) }],
    })
    expect(await knowledge.read('ks:docs/a.md', call)).toEqual({ storageMissing: true })
  })

  it('two processes can index the same folder at once', async () => {
    base.write(
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}.md`, `# Title\n${String.fromCharCode(97 + (n % 26)).repeat(5 + n)}`])),
    )
    const [one, two] = [base.open(), base.open()]
    await Promise.all([one.update(), two.update()])
    expect(await one.documents()).toHaveLength(30)
    expect(await pathsOf(two, 'r'.repeat(22))).toEqual(['ks:docs/17.md'])
  })

  it('is watched: a changed file is found soon, and watching ends with the knowledge base', async () => {
    base.write({ 'a.md': '# A\napples' })
    const knowledge = base.open()
    await knowledge.watch()
    base.write({ 'deep/er/b.md': '# B\nrhubarb' })
    await expect.poll(() => pathsOf(knowledge, 'rhubarb'), { timeout: 20_000, interval: 100 }).toEqual(['ks:docs/deep/er/b.md'])
    await Promise.all([knowledge.close(), knowledge.close()])
    await expect(knowledge.update()).rejects.toThrow('closed')
  })

  it('a search waits no longer than allowed, and finds what is there', async () => {
    base.write({ 'a.md': '# A\napples' })
    await base.open().update()
    base.write(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`${n}.html`, '<p>slow</p>'])))
    const gate = Promise.withResolvers<never>()
    gate.promise.catch(() => {})
    const slow = base.open({ waitMs: 1, readers: { pages: () => gate.promise, yaml: parseYaml } })
    expect(await pathsOf(slow, 'apples')).toEqual(['ks:docs/a.md'])
    gate.reject(new Error('enough'))
  })
})

describe('hostile files', () => {
  it('random bytes are a document or have a problem, whatever their name is', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '---\n',
        'title: |\n a\n b\n',
        'tags: [',
        '# A\n',
        '```\n',
        '%PDF-1.7\n',
        '<html>',
        '<script>',
        '[SYSTEM MESSAGE]\n',
        '\0',
      ),
      fc.string({ unit: 'binary', maxLength: 10 }),
    )
    const texts = fc.array(piece, { maxLength: 12 }).map((pieces) => Buffer.from(pieces.join('')))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('a.md', 'a.txt', 'a', 'a.json', 'a.ts'),
        fc.oneof(texts, fc.uint8Array({ maxLength: 50 })),
        async (name, bytes) => {
          const result = await readDocument(name, bytes, { yaml: parseYaml })
          if ('problem' in result) return
          expect(result.document.sections.length).toBeGreaterThan(0)
          expect(result.document.title).not.toContain('\n')
        },
      ),
      { numRuns: 300 },
    )
  })

  it('are left out and reported once, and the others are found', async () => {
    const outside = join(base.folder, 'secret.txt')
    writeFileSync(outside, 'the secret word is xylophone')
    base.write({
      'good.md': '# Good\nxylophone lessons',
      'binary.md': Buffer.from([0, 1, 2, 0xff, 0xfe, 0]),
      'picture.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0xff]),
      'huge.txt': 'x'.repeat(2 * 1024 * 1024 + 1),
      'broken.pdf': 'not a pdf',
      'empty.md': ' \n',
      'front.md': '---\ntitle: &a [*a]\n---\n# Front\nxylophone front matter',
      'bomb.md': `---\na: &a [x]\nb: &b [*a, *a]\ntags: [*b, *b]\n---\nbody`,
      'node_modules/x/readme.md': 'xylophone',
      '.hidden.md': 'xylophone',
    })
    symlinkSync(outside, join(base.docs, 'link.txt'))
    symlinkSync(base.folder, join(base.docs, 'loop'))
    const problems: LeftOut[] = []
    const knowledge = base.open({ onProblem: (problem) => problems.push(problem) })
    const report = await knowledge.update()
    const expected = {
      'ks:docs/link.txt': 'is a symbolic link, which is not followed',
      'ks:docs/loop': 'is a symbolic link, which is not followed',
      'ks:docs/binary.md': 'is not a text',
      'ks:docs/bomb.md': 'has front matter that has an alias, which is not allowed',
      'ks:docs/broken.pdf': expect.stringMatching(/^can not be read: the PDF can not be read/),
      'ks:docs/empty.md': 'is empty',
      'ks:docs/front.md': expect.stringMatching(/^has front matter that /),
      'ks:docs/huge.txt': 'is larger than 2 MiB',
      'ks:docs/picture.png': 'is not a text',
    }
    expect(Object.fromEntries(report.problems.map(({ path, problem }) => [path, problem]))).toEqual(expected)
    await knowledge.update()
    expect(problems).toHaveLength(Object.keys(expected).length)
    expect((await pathsOf(knowledge, 'xylophone')).sort()).toEqual(['ks:docs/front.md#front', 'ks:docs/good.md'])
    expect(await knowledge.read('ks:docs/huge.txt', call)).toEqual({})
  })

  it('thousands of files that are left out give a short report', async () => {
    base.write({ 'a.md': '# A\napples' })
    for (let n = 0; n < 1_500; n++) symlinkSync('/etc/passwd', join(base.docs, `link${n}`))
    const { problems, documents } = await base.open().update()
    expect(documents).toBe(1)
    expect(problems).toHaveLength(1_001)
    expect(problems.at(-1)).toEqual({ path: 'ks:docs/', problem: 'has 500 more files that are left out' })
  })

  it.each([
    'ks:docs/../secret.txt',
    'ks:docs/link.txt',
    'ks:docs/loop/secret.txt',
    'ks:other/a.md',
    'ks:docs//etc/passwd',
    'ks:/etc/passwd',
    'ks:docs/.git/config',
    'ks:docs/.env',
    'ks:docs/node_modules/x/readme.md',
    'ks:docs/data/blobs/secret.txt',
  ])('%s leads to no document', async (path) => {
    writeFileSync(join(base.folder, 'secret.txt'), 'secret')
    base.write({ 'a.md': '# A', '.git/config': 'x', '.env': 'KEY=x', 'node_modules/x/readme.md': 'x', 'data/blobs/secret.txt': 'x' })
    symlinkSync(join(base.folder, 'secret.txt'), join(base.docs, 'link.txt'))
    symlinkSync(base.folder, join(base.docs, 'loop'))
    const folders = [{ name: 'docs', path: base.docs, excluded: join(base.docs, 'data') }]
    expect(await base.open({ folders }).read(path, call)).toBeUndefined()
  })
})
