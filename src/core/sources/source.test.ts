import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanPoolRow, documentEligibleMimes, isCitable, isEligibleMime, parseSourceRow, parseToolSource } from './source.ts'

describe('parsing a row', () => {
  it.each([
    [{ href: 'https://a.b' }, { url: 'https://a.b', title: 'https://a.b' }],
    [
      { value: 'https://a.b', description: 'D' },
      { url: 'https://a.b', title: 'D' },
    ],
    [
      { url: ' https://a.b ', title: 'T', body: 'B' },
      { url: 'https://a.b', title: 'T', text: 'B' },
    ],
    [
      { url: 'https://a.b', title: ' ', description: 'D' },
      { url: 'https://a.b', title: 'D' },
    ],
    [
      { url: 'https://a.b', title: 'T', description: 'D', value: 7 },
      { url: 'https://a.b', title: 'T', description: 'D', value: 7 },
    ],
    [{ local_path: 'turn_1/files/a.png' }, { physical_path: 'turn_1/files/a.png' }],
    [{ physical_path: 'turn_1/files/e\u0301.png' }, { physical_path: 'turn_1/files/\u00e9.png' }],
  ])('%j is parsed as %j', (given, row) => {
    expect(parseSourceRow(given)).toEqual(row)
  })

  it.each([
    undefined,
    null,
    7,
    'https://a.b',
    [],
    {},
    { title: 'T' },
    { url: '' },
    { url: 7 },
    { physical_path: '/etc/passwd' },
    { local_path: '../x' },
  ])('%j has neither a URL nor a safe path, and is rejected', (given) => {
    expect(parseSourceRow(given)).toBeUndefined()
  })

  it('keeps unknown fields, and leaves out known ones of a wrong type', () => {
    const given = JSON.parse(
      '{"url":"u","title":"t","sid":"3","mime":7,"size_bytes":"big","used":"yes","source_type":"dream","content":null,"x":{"y":[1]},"__proto__":{"z":1}}',
    )
    const row = parseSourceRow(given)
    expect(Object.entries(row ?? {}).toSorted()).toEqual([
      ['__proto__', { z: 1 }],
      ['title', 't'],
      ['url', 'u'],
      ['x', { y: [1] }],
    ])
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
  })

  it('never keeps an absolute path', () => {
    const row = parseSourceRow({ url: 'https://a.b', local_path: '/home/someone/a.png', physical_path: '/home/someone/a.png' })
    expect(JSON.stringify(row)).not.toContain('someone')
  })

  it('drops binary data that is too long for a row', () => {
    expect(parseSourceRow({ url: 'u', base64: 'A'.repeat(4000) })).toHaveProperty('base64')
    expect(parseSourceRow({ url: 'u', base64: 'A'.repeat(4001) })).not.toHaveProperty('base64')
  })

  it('parses its own result unchanged', () => {
    const field = fc.constantFrom(
      'url',
      'href',
      'value',
      'title',
      'description',
      'text',
      'body',
      'local_path',
      'physical_path',
      'sid',
      'used',
      'base64',
      'x',
    )
    const value = fc.oneof(
      fc.constantFrom('turn_1/files/a', 'https://a.b/', ' ', '', '../x'),
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.object(),
    )
    const numRuns = 1_000
    let rows = 0
    fc.assert(
      fc.property(fc.oneof({ weight: 3, arbitrary: fc.dictionary(field, value, { minKeys: 3 }) }, fc.anything()), (given) => {
        const row = parseSourceRow(given)
        if (row === undefined) return
        rows++
        expect(parseSourceRow(row)).toEqual(row)
      }),
      { numRuns },
    )
    expect(rows).toBeGreaterThan(numRuns / 20)
  })
})

describe('which files are sources', () => {
  it('timeline 11.115: images only by default', () => {
    expect(['image/png', 'application/pdf', 'text/plain'].map((mime) => isEligibleMime(mime))).toEqual([true, false, false])
  })

  it('timeline 11.115: text and PDF too with the wider list, a spreadsheet with neither', () => {
    const sheet = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
    expect(['image/png', 'application/pdf', 'text/plain', sheet].map((mime) => isEligibleMime(mime, documentEligibleMimes))).toEqual([
      true,
      true,
      true,
      false,
    ])
    expect(isEligibleMime(sheet)).toBe(false)
  })

  it('accepts parameters and upper case in a type', () => {
    expect(isEligibleMime('Text/HTML; charset=utf-8', ['text/*'])).toBe(true)
    expect(isEligibleMime('textual/html', ['text/*'])).toBe(false)
    expect(isEligibleMime('application/pdf2', documentEligibleMimes)).toBe(false)
    expect(['', 'image', undefined].map((mime) => isEligibleMime(mime))).toEqual([false, false, false])
    expect(isEligibleMime('image/png', [])).toBe(false)
  })

  it('timeline 11.118: only web pages can be cited, files and images can not', () => {
    expect(isCitable({ url: 'https://a.b', source_type: 'web' })).toBe(true)
    expect(isCitable({ url: 'HTTP://a.b', source_type: 'manual' })).toBe(true)
    expect(isCitable({ url: 'https://a.b' })).toBe(true)
    expect(isCitable({ url: 'https://a.b/x.png', source_type: 'file' })).toBe(false)
    expect(isCitable({ url: 'https://a.b/x.png', source_type: 'attachment' })).toBe(false)
    expect(isCitable({ physical_path: 'turn_1/files/a.png' })).toBe(false)
    expect(['file:///etc/passwd', 'javascript:alert(1)', 'a.b/c', 'https://', ''].map((url) => isCitable({ url }))).toEqual([
      false,
      false,
      false,
      false,
      false,
    ])
  })
})

describe('a row of a tool', () => {
  it.each([
    [
      { url: ' https://a.b ', title: 'T' },
      { url: 'https://a.b', title: 'T' },
    ],
    [{ href: 'https://a.b' }, { url: 'https://a.b' }],
    [{ value: 'https://a.b' }, { url: 'https://a.b' }],
    [
      { sid: '7', url: 'doi:10.1/2', title: 'T' },
      { sid: 7, url: 'doi:10.1/2', title: 'T' },
    ],
    [
      {
        url: 'https://a.b',
        title: 'T',
        base64: 'A'.repeat(4_000),
        rank: 3,
        note: 'short',
        deep: { base64: 'A' },
        image: 'A'.repeat(4_001),
      },
      { url: 'https://a.b', title: 'T', base64: 'A'.repeat(4_000), rank: 3, note: 'short' },
    ],
    [
      { url: 'https://a.b', title: 'T', base64: 'A'.repeat(4_001) },
      { url: 'https://a.b', title: 'T' },
    ],
  ])('%.80j has the known fields, its address in `url`, and no large bytes', (given, row) => {
    expect(parseToolSource(given)).toEqual(row)
  })

  it('has no field that leads to a file, names a hosted object, or says what the conversation did', () => {
    const foreign = {
      physical_path: '/etc/passwd',
      local_path: '/etc/passwd',
      artifact_path: 'fi:t1.files/a',
      rn: 'r',
      hosted_uri: 'h',
      key: 'k',
    }
    const given = { url: 'https://a.b', title: 'T', ...foreign, turn_id: 't9', used: true, source_type: 'file' }
    expect(parseToolSource(given)).toEqual({ url: 'https://a.b', title: 'T' })
  })

  it.each([null, 7, [], {}, { title: 'T' }, { url: '' }, { url: 7 }, { value: 'words' }, { physical_path: 't1/files/a.png' }])(
    'without an address is none: %j',
    (given) => expect(parseToolSource(given)).toBeUndefined(),
  )

  it.each([
    'data:text/html;base64,AAAA',
    'javascript:alert(1)',
    'file:///etc/passwd',
    `https://a.b/${'x'.repeat(4_000)}`,
    'java\nscript:alert(1)', // browsers ignore control characters and spaces in a scheme
    '\u0001java\tscript:alert(1)',
    'vbscript :x',
  ])('does not lead to %.40s', (url) => expect(parseToolSource({ url, title: 'T' })).toBeUndefined())
})

it('an imported row loses handles, unsafe paths and fields of a wrong type, and keeps its sid and everything else', () => {
  const kept = { sid: 4, url: 'https://a.b', odd: [1], artifact_path: 'fi:t1.files/a.png' }
  const foreign = { rn: 'r', hosted_uri: 'h', key: 'k', local_path: '/tmp/a', physical_path: '/etc/passwd', base64: 'A'.repeat(4_001) }
  expect(cleanPoolRow({ ...kept, ...foreign, title: 7 } as never)).toEqual(kept)
  expect(cleanPoolRow({ sid: 5 })).toEqual({ sid: 5 })
})
