import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parsePath } from '../path/logical.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
import type { SourceRow } from '../sources/source.ts'
import { caps } from './caps.ts'
import { sourcesTail } from './sources-tail.ts'

const web = (sid: number, more: Partial<SourceRow> = {}): SourceRow => ({
  sid,
  source_type: 'web',
  title: `page ${sid}`,
  url: `https://e.example/${sid}`,
  mime: 'text/html',
  text: 'snippet',
  ...more,
})
const poolOf = (...rows: readonly SourceRow[]): SourcePool => ({ rows, next_sid: (rows.at(-1)?.sid ?? 0) + 1 })
const linesOf = (pool: SourcePool) => sourcesTail(pool).split('\n')
const sidsIn = (text: string) => [...text.matchAll(/^SID:(\d+)/gm)].map(([, sid]) => Number(sid))

describe('the sources tail', () => {
  it('timeline 11.38: an empty pool says that there are no sources, without examples', () => {
    const text = sourcesTail(emptyPool)
    expect(text).toContain('\n  (none)\n')
    expect(text).not.toContain('[[S:')
  })

  it('shows a row by its sid, title, type, location and size, with a snippet below', () => {
    const row = web(7, { title: 'A  long\ntitle', text: ` two\n\twords ${'x'.repeat(300)}`, content: 'c'.repeat(4_801) })
    const [first, second] = linesOf(poolOf(row)).slice(4)
    expect(first).toBe('SID:07  "A long title"                          text/html  e.example  ~1.2K tok')
    expect(second).toBe(`        two words ${'x'.repeat(189)}…`)
  })

  it('sids are padded to the widest, at least two digits', () => {
    expect(sourcesTail(poolOf(web(3), web(120)))).toMatch(/^SID:003 .*\n/m)
  })

  it('files show their path, and binary ones a placeholder instead of a snippet', () => {
    const file: SourceRow = {
      sid: 1,
      source_type: 'file',
      title: 'a.png',
      mime: 'image/png',
      artifact_path: 'fi:t1.files/a.png',
      size_bytes: 400,
      url: 'https://hosting.example/secret',
      key: 'secret',
      rn: 'secret',
      hosted_uri: 'secret',
    }
    const text = sourcesTail(poolOf(file))
    expect(text).toContain('fi:t1.files/a.png  ~100 tok\n        <base64>')
    expect(text).not.toContain('secret')
    expect(sourcesTail(poolOf(web(1, { text: '' })))).toContain('        <text>')
  })

  it('draws its rules as wide as its header, at least 80', () => {
    const [top = '', header = ''] = linesOf(poolOf(web(1)))
    expect(top).toBe('━'.repeat(Math.max(80, header.length)))
  })

  it('shows at most 60 rows: those of the current turn, then the newest, in order, and names the rest', () => {
    const rows = Array.from({ length: 100 }, (_, n) => web(n + 1, n === 9 ? { turn_id: 't5' } : {}))
    const text = sourcesTail(poolOf(...rows), 't5')
    expect(sidsIn(text)).toEqual([10, ...Array.from({ length: 59 }, (_, n) => n + 42)])
    expect(text).toContain('… 40 more, read so:sources_pool[1-9, 11-41]')
  })

  it('names web_tools.web_fetch only if the agent has it', () => {
    expect(sourcesTail(poolOf(web(1)))).not.toContain('web_fetch')
    expect(sourcesTail(poolOf(web(1)), 't1', (id) => id === 'web_tools.web_fetch')).toContain('fetch  web_tools.web_fetch(urls=')
  })

  it('says how to cite only if a row can be cited', () => {
    const file: SourceRow = { sid: 1, source_type: 'file', title: 'a.png', mime: 'image/png', physical_path: 't1/files/a.png' }
    expect(sourcesTail(poolOf(file))).not.toContain('[[S:')
    expect(sourcesTail(poolOf(file, web(2)))).toContain('cite   [[S:1]]')
  })

  it('the path to the rows that are not shown is whole: it names exactly these rows, or a range with all of them', () => {
    const lengths = { exact: 0, range: 0 }
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 9_999 }), { minLength: 50, maxLength: 400, size: 'max' }),
        fc.integer({ min: 1, max: 5 }),
        (sids, step) => {
          const rows = sids.toSorted((a, b) => a - b).map((sid, n) => web(sid, n % step === 0 ? { turn_id: 't5' } : {}))
          const text = sourcesTail(poolOf(...rows), 't5')
          const shown = new Set(sidsIn(text))
          const notShown = rows.map(({ sid }) => sid).filter((sid) => !shown.has(sid))
          const [line, count, path = ''] = /^… (\d+) more, read (.*)$/m.exec(text) ?? []
          expect(line === undefined).toBe(notShown.length === 0)
          if (line === undefined) return
          const parsed = parsePath(path)
          const named = parsed?.space === 'so' ? parsed.sids : []
          expect(Number(count)).toBe(notShown.length)
          expect(line.length).toBeLessThanOrEqual(caps.announceLine)
          const existing = rows.map(({ sid }) => sid).filter((sid) => named.includes(sid))
          if (existing.some((sid) => shown.has(sid))) {
            expect(named).toEqual(Array.from({ length: (notShown.at(-1) ?? 0) - (notShown[0] ?? 0) + 1 }, (_, n) => (notShown[0] ?? 0) + n))
            lengths.range++
          } else {
            expect(existing).toEqual(notShown)
            lengths.exact++
          }
        },
      ),
      { numRuns: 60, endOnFailure: true },
    )
    expect(lengths.exact).toBeGreaterThan(0)
    expect(lengths.range).toBeGreaterThan(0)
  })
})
