import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { artifactIds, maxContractProblems, readContract } from './contract.ts'
import { maxContractFiles, resolveContract } from './contract-paths.ts'

const scope = { currentTurn: 'turn_c', knownTurns: new Set(['known']) }
const file = (filename: string) => ({ filename, description: 'rows' })
const resolve = (...filenames: readonly string[]) => resolveContract(filenames.map(file), scope)
const errorOf = (given: unknown) => {
  const contract = resolveContract(given, scope)
  return contract.ok ? undefined : contract.problems[0]?.error
}

describe('a contract', () => {
  it('may be a list of files or its JSON text', () => {
    const list = [
      { filename: 'files/a.csv', description: 'rows' },
      { filepath: 'outputs/b.csv', description: 'sums', visibility: 'internal', mime: 'text/csv' },
    ]
    const files = [
      { filename: 'turn_c/files/a.csv', description: 'rows', visibility: 'external' },
      { filename: 'turn_c/outputs/b.csv', description: 'sums', visibility: 'internal' },
    ]
    expect(resolveContract(list, scope)).toEqual({ ok: true, files, rewrites: [] })
    expect(resolveContract(JSON.stringify(list), scope)).toEqual({ ok: true, files, rewrites: [] })
  })

  it.each([
    [undefined, 'missing_artifacts'],
    [null, 'missing_artifacts'],
    ['  ', 'missing_artifacts'],
    [[], 'missing_artifacts'],
    ['[]', 'missing_artifacts'],
    ['files/a.csv', 'invalid_artifacts_json'],
    [`${'['.repeat(300)}${']'.repeat(300)}`, 'invalid_artifacts_json'],
    ['{}', 'invalid_artifacts'],
    [{ length: 1, 0: file('a') }, 'invalid_artifacts'],
    [new Uint8Array(3), 'invalid_artifacts'],
    [7, 'invalid_artifacts'],
    [['files/a.csv'], 'invalid_artifact_spec'],
    [[null], 'invalid_artifact_spec'],
    [[[file('a')]], 'invalid_artifact_spec'],
    [[{ filename: 'a' }], 'invalid_artifact_spec'],
    [[{ filename: ' ', description: 'x' }], 'invalid_artifact_spec'],
    [[{ filename: ['a'], description: 'x' }], 'invalid_artifact_spec'],
    [[{ filename: 'a', description: { toString: 'x' } }], 'invalid_artifact_spec'],
    [[{ ...file('a'), visibility: 'secret' }], 'invalid_artifact_spec'],
    [[{ ...file('a'), visibility: '' }], 'invalid_artifact_spec'],
    [[{ ...file('a'), filepath: 'outputs/a' }], 'invalid_artifact_spec'],
    ['[{"__proto__":{"filename":"a","description":"x"}}]', 'invalid_artifact_spec'],
    [[file('a.md'), file('files/a.md')], 'invalid_artifact_spec'],
    [[file('files/e\u0301.md'), file('files/\u00e9.md')], 'invalid_artifact_spec'],
    [[file('files/a'), file('files/a/b.md')], 'invalid_artifact_spec'],
    [[file('files/a/b/c.md'), file('a')], 'invalid_artifact_spec'],
  ])('refuses %j: %s', (given, error) => {
    expect(errorOf(given)).toBe(error)
  })

  it('accepts a file that has the same name in both of its fields', () => {
    expect(errorOf([{ ...file('files/a'), filepath: 'files/a' }])).toBe(undefined)
  })

  it.each([
    ...['attachments/a.txt', 'turn_c/attachments/a.txt', 'turn_o/attachments/a.txt', 'fi:turn_c.user.attachments/a.txt'],
    ...['turn_o/files/a.txt', 'known/outputs/a.txt', 'turn_o/a.txt', 'turn_c/a.txt', 'turn_c/files/', 'turn_\u212a/files/a.txt'],
    ...['fi:turn_c.files/a.txt', 'ar:turn_c.user.prompt', 'https://a.b/c', 'ref:fi:turn_c.files/a.txt'],
    ...[
      '/etc/passwd',
      '../a',
      'files/../a',
      'turn_c/files/../../a',
      'turn_o/files/../..',
      './a',
      'a//b',
      'files/',
      'C:\\a',
      'a\\b',
      '\\\\a\\b',
    ],
    ...['a\0b', 'a\nb', 'a\u202eb', 'a\u200bb', '\ud800', '%2e%2e/a', 'a%2fb', 'files/.git/config', 'x'.repeat(300), 'x/'.repeat(5_000)],
  ])('tools 18.80: refuses the filename %j and gives the reason', (filename) => {
    const contract = resolve(filename)
    expect(contract).toEqual({ ok: false, problems: [{ error: 'invalid_filename', message: expect.stringMatching(/^File 1, .*[^.]$/) }] })
  })

  it.each([
    ['attachments/a.txt', 'File 1, attachments/a.txt, is among the attachments, which nobody writes: call it files/a.txt'],
    ['turn_o/outputs/a.txt', 'File 1, turn_o/outputs/a.txt, belongs to another turn: call it outputs/a.txt'],
    ['fi:turn_o.files/a.txt', 'File 1, fi:turn_o.files/a.txt, is a logical path: call it files/a.txt'],
    ['../a.txt', 'File 1, ../a.txt, cannot be called so: the path has a ".." segment'],
  ])('suggests another name for %s', (filename, message) => {
    expect(resolve(filename)).toEqual({ ok: false, problems: [{ error: 'invalid_filename', message }] })
  })

  it('refuses a file whose path is a folder of another file', () => {
    const message = 'File 2, files/a, cannot be beside turn_c/files/a/b.md: one would be the folder of the other'
    expect(resolve('files/a/b.md', 'files/a')).toEqual({ ok: false, problems: [{ error: 'invalid_artifact_spec', message }] })
    expect(resolve('files/a.md', 'files/a', 'outputs/a/b', 'files/ab/c')).toMatchObject({ ok: true })
  })

  it('quotes filenames without invisible characters', () => {
    expect(resolve('../a\0b\u202ec\ud800')).toMatchObject({
      problems: [{ message: expect.stringMatching(/^File 1, \.\.\/a\ufffdb\ufffdc\ufffd, /) }],
    })
  })

  it('reports several problems at once, up to a limit', () => {
    expect(resolve('files/a', '../b', 'files/c', 'files/a')).toMatchObject({
      problems: [{ error: 'invalid_filename' }, { error: 'invalid_artifact_spec', message: expect.stringContaining('File 4, files/a,') }],
    })
    expect(resolve(...Array(100).fill('../a'))).toMatchObject({ problems: { length: maxContractProblems } })
    expect(readContract(Array(1_000_000).fill(1))).toMatchObject({ problems: { length: maxContractProblems } })
  })

  it('may declare up to 200 files', () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `files/${index}.csv`)
    expect(resolve(...names(maxContractFiles))).toMatchObject({ ok: true, files: { length: maxContractFiles } })
    expect(errorOf(names(maxContractFiles + 1).map(file))).toBe('invalid_artifacts')
  })

  it('lists the filenames that mean another path than a program in the folder of the turn would use', () => {
    expect(resolve('a.csv', 'files/b.csv', 'turn_c/outputs/c.csv', 'files/e\u0301', 'sums/d.csv')).toMatchObject({
      rewrites: [
        { original: 'a.csv', normalized: 'turn_c/files/a.csv' },
        { original: 'files/e\u0301', normalized: 'turn_c/files/\u00e9' },
        { original: 'sums/d.csv', normalized: 'turn_c/files/sums/d.csv' },
      ],
    })
  })

  const names = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('__proto__', 'constructor', '', '..', 'a/../b'),
    fc
      .array(
        fc.constantFrom(
          'files',
          'outputs',
          'attachments',
          'turn_c',
          'turn_o',
          'known',
          'a.csv',
          '..',
          '.',
          '',
          'é',
          'e\u0301',
          'fi:turn_c.files',
        ),
      )
      .map((parts) => parts.join('/')),
  )
  const entries = fc.record(
    { filename: names, filepath: names, description: fc.string(), visibility: fc.constantFrom('external', 'internal', null, 'x') },
    { requiredKeys: [] },
  )
  const contracts = fc.oneof(
    fc.array(fc.record({ filename: names, description: fc.constant('x') }), { minLength: 1, maxLength: 3 }),
    fc.array(fc.oneof(entries, fc.jsonValue())),
    fc.jsonValue(),
    fc.json(),
  )

  it('is refused, or all its files are in the current turn and resolving it again changes nothing', () => {
    let accepted = 0
    fc.assert(
      fc.property(contracts, (given) => {
        const resolved = resolveContract(given, scope)
        if (!resolved.ok) {
          expect(resolved.problems.length).toBeGreaterThan(0)
          return
        }
        accepted++
        const { files } = resolved
        for (const { filename } of files) {
          expect(filename).toMatch(/^turn_c\/(?:files|outputs)\/[^/]/)
          expect(filename.split('/')).not.toContain('..')
        }
        expect(new Set(files.map(({ filename }) => filename)).size).toBe(files.length)
        expect(resolveContract(files, scope)).toEqual({ ok: true, files, rewrites: [] })
        expect(resolveContract(JSON.stringify(files), scope)).toEqual({ ok: true, files, rewrites: [] })
      }),
      { numRuns: 2_000 },
    )
    expect(accepted).toBeGreaterThan(50)
  })
})

describe('artifact ids', () => {
  it('are the names without folder and extension, numbered from the second of a name on', () => {
    expect(artifactIds(['files/a.csv', 'outputs/a.md', 'b', 'files/x/a', '.env', 'a.tar.gz'])).toEqual([
      'a',
      'a_2',
      'b',
      'a_3',
      'file',
      'a.tar',
    ])
  })

  it('are unique, even when a file is named like a numbered one', () => {
    expect(artifactIds(['a.csv', 'a_2.csv', 'a.md', 'a.txt'])).toEqual(['a', 'a_2', 'a_3', 'a_4'])
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'a_2', 'x/a.md', 'a_2_2', '__proto__', '')), (names) => {
        expect(new Set(artifactIds(names)).size).toBe(names.length)
      }),
    )
  })
})
