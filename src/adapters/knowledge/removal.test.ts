import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { parseYaml } from '../skills/yaml.ts'
import { openIndex } from './index-file.ts'
import { openKnowledge } from './knowledge.ts'

/** A number in letters, because a word with digits would be indexed in parts. */
const letters = (n: number) => [...String(n)].map((digit) => 'bcdfghjklm'[Number(digit)]).join('')

/** A folder with documents. The words of each are planted: they occur in no other document. */
function plantedFolder() {
  const root = mkdtempSync(join(tmpdir(), 'knowledge-removal-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const docs = join(root, 'docs')
  mkdirSync(docs)
  const words = (n: number) => ['path', 'title', 'tag', 'summary', 'url', 'heading', 'text'].map((place) => `zq${place}${letters(n)}xw`)
  const place = (n: number) => join(docs, `${words(n)[0]}.md`)
  const write = (n: number, more = '') => {
    const [, title, tag, summary, url, heading, text] = words(n)
    const front = `---\ntitle: ${title}\ntags: [${tag}]\nsummary: ${summary}\nurl: https://example/${url}\n---\n`
    const filler = Array.from({ length: 40 }, (_, at) => `zqfiller${letters(n)}at${letters(at)}xw`).join(' ')
    writeFileSync(place(n), `${front}# ${heading}\n${text} ${filler}\n${more}`)
  }
  const index = join(root, 'index.db')
  const open = () => {
    const knowledge = openKnowledge({ folders: [{ name: 'docs', path: docs }], index, readers: { yaml: parseYaml } })
    onTestFinished(() => knowledge.close())
    return knowledge
  }
  const bytes = () =>
    ['', '-wal', '-journal']
      .map((suffix) => index + suffix)
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file).toString('latin1').toLowerCase())
      .join('\n')
  /** The planted words of these documents that the files of the index contain. */
  const traces = (numbers: readonly number[]) => {
    const text = bytes()
    return numbers.flatMap((n) => [...words(n), `zqfiller${letters(n)}at`]).filter((word) => text.includes(word))
  }
  return { index, bytes, write, remove: (n: number) => rmSync(place(n)), open, traces, words }
}

const numbers = Array.from({ length: 60 }, (_, n) => n + 100)

it('nothing of a removed document stays in the index file', async () => {
  const { write, remove, open, traces, words } = plantedFolder()
  for (const n of numbers) write(n)
  const knowledge = open()
  await knowledge.update()
  // shows that the words that the checks below look for were in the index
  expect(traces(numbers).length).toBeGreaterThan(numbers.length * 7)
  const gone = numbers.filter((n) => n % 3 === 0)
  for (const n of gone) remove(n)
  expect(await knowledge.update()).toMatchObject({ removed: gone.length })
  expect(traces(gone)).toEqual([])
  const call = { scope: { tenant: 't', project: 'p', user: 'u' }, signal: new AbortController().signal }
  const query = { query: words(101).at(-1) ?? '', root: 'ks:', maxHits: 5, keywords: [] }
  expect(await knowledge.search(query, call)).toMatchObject([{ title: words(101)[1] }])
})

it('nothing of a replaced text stays, and a second process that has the index open does not prevent it', async () => {
  const { write, open, traces, index, bytes } = plantedFolder()
  write(100, 'zqoldsecretxw')
  write(101)
  const other = new DatabaseSync(index)
  onTestFinished(() => other.close())
  const knowledge = open()
  await knowledge.update()
  expect(other.prepare('SELECT count(*) AS count FROM documents').get()).toEqual({ count: 2 })
  expect(bytes()).toContain('zqoldsecretxw')
  write(100)
  await knowledge.update()
  expect(bytes()).not.toContain('zqoldsecretxw')
  expect(traces([100]).length).toBeGreaterThan(5)
})

it('if a process dies after a removal, the next update overwrites what is left of the removed document', async () => {
  const { write, remove, open, traces, index, words } = plantedFolder()
  for (const n of numbers) write(n)
  await open().update()
  const dying = await openIndex(index)
  dying.remove(`ks:docs/${words(100)[0]}.md`)
  dying.close()
  remove(100)
  expect(traces([100])).not.toEqual([])
  expect(await open().update()).toMatchObject({ removed: 0, indexed: 0 })
  expect(traces([100])).toEqual([])
})
