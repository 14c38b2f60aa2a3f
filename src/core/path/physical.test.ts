import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { filePath } from './build.ts'
import { canonicalPath } from './logical.ts'
import { normalizeTarget, type TargetScope, toLogical, toPhysical } from './physical.ts'

describe('logical and physical paths', () => {
  it.each([
    ['fi:turn_1.files/a/b.md', 'turn_1/files/a/b.md'],
    ['fi:turn_1.outputs/r.pdf', 'turn_1/outputs/r.pdf'],
    ['fi:turn_1.user.attachments/x.png', 'turn_1/attachments/x.png'],
    ['fi:turn_1.files/x.files/outputs/y', 'turn_1/files/x.files/outputs/y'],
  ])('%s is %s', (logical, physical) => {
    expect(toPhysical(logical)).toBe(physical)
    expect(toLogical(physical)).toBe(logical)
  })

  it.each([
    'ar:turn_1.user.prompt',
    'fi:turn_1.files/',
    'fi:turn_1.code.c1',
    'fi:conv_x.turn_1.files/a',
    'fi:turn_1.files/../a',
    'turn_1/files/a',
    '',
  ])('%j has no path below OUT_DIR', (logical) => {
    expect(toPhysical(logical)).toBeUndefined()
  })

  it.each([
    'turn_1/secret/a',
    'turn_1/files/',
    'turn_1/files',
    'files/a',
    't1/files/a',
    'turn_1/files/a:b',
    'turn_1/files/../b',
    '/turn_1/files/a',
    'turn_/files',
    '',
  ])("%j is not the path of a turn's file", (physical) => {
    expect(toLogical(physical)).toBeUndefined()
  })

  it('accepts a turn id of any form when the turn is known', () => {
    expect(toLogical('t1/files/a')).toBeUndefined()
    expect(toLogical('t1/files/a', new Set(['t1']))).toBe('fi:t1.files/a')
    expect(toLogical('conv_1/files/a', new Set(['conv_1']))).toBeUndefined() // a turn id may not begin with conv_
  })

  it('tools 18.7: converting to a physical path and back gives the same logical path, also with .files/ inside it', () => {
    const segment = fc.oneof(
      fc.constantFrom('x.files', 'files', 'y.outputs', 'user.attachments', 'a b', '\u00e9'),
      fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/),
    )
    const rel = fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('/'))
    const turn = fc.stringMatching(/^turn_[A-Za-z0-9_-]{1,12}$/)
    fc.assert(
      fc.property(turn, fc.constantFrom('files' as const, 'outputs' as const, 'attachments' as const), rel, (turnId, area, given) => {
        const logical = filePath(turnId, area, given)
        const physical = toPhysical(logical)
        expect(physical).toBe(`${turnId}/${area}/${given}`)
        expect(toLogical(physical ?? '')).toBe(logical)
      }),
    )
  })
})

const scope: TargetScope = { currentTurn: 'turn_c' }
const at = (input: string, given: TargetScope = scope) => normalizeTarget(input, given)
const codeOf = (input: string, given?: TargetScope) => {
  const target = at(input, given)
  return target.ok ? target.physical : target.code
}

describe('the target of a write', () => {
  it('tools 18.1: qualifies a path in files/ without a notice', () => {
    expect(at('files/app/a.ts')).toEqual({
      ok: true,
      physical: 'turn_c/files/app/a.ts',
      logical: 'fi:turn_c.files/app/a.ts',
      rewrite: { original: 'files/app/a.ts', normalized: 'turn_c/files/app/a.ts', notify: false },
    })
  })

  it("tools 18.2: moves another turn's path into the current turn, with a notice", () => {
    expect(at('turn_o/files/output.csv')).toEqual({
      ok: true,
      physical: 'turn_c/files/output.csv',
      logical: 'fi:turn_c.files/output.csv',
      rewrite: { original: 'turn_o/files/output.csv', normalized: 'turn_c/files/output.csv', notify: true },
    })
  })

  it.each(['../x', '/etc/passwd', 'files/../../x', 'C:\\x', 'a\0b'])('tools 18.4: rejects %j as unsafe', (input) => {
    expect(codeOf(input)).toBe('unsafe_path')
  })

  it('tools 18.5: rejects an area that a turn does not have', () => {
    expect(codeOf('turn_c/secret/x.md')).toBe('unsafe_path')
  })

  it('tools 18.8: moves an attachment path to a file of the same name, with a notice', () => {
    expect(at('attachments/x.png')).toMatchObject({ physical: 'turn_c/files/x.png', rewrite: { notify: true } })
    expect(at('turn_o/attachments/x.png')).toMatchObject({ physical: 'turn_c/files/x.png', rewrite: { notify: true } })
    expect(at('turn_c/attachments/x.png')).toMatchObject({ physical: 'turn_c/files/x.png', rewrite: { notify: true } })
  })

  it.each(['turn_c/files/a.md', 'turn_c/outputs/b/c.pdf'])('leaves %s as it is, without a rewrite', (input) => {
    expect(at(input)).toEqual({ ok: true, physical: input, logical: canonicalPath(input.replace('turn_c/', 'fi:turn_c.')) })
  })

  it('puts a path without an area into files/, or into the default area when one is given', () => {
    expect(at('report.md')).toMatchObject({ physical: 'turn_c/files/report.md', rewrite: { notify: false } })
    expect(codeOf('report.md', { ...scope, defaultArea: 'outputs' })).toBe('turn_c/outputs/report.md')
    expect(codeOf('outputs/report.md')).toBe('turn_c/outputs/report.md')
    expect(codeOf('app/files/report.md')).toBe('turn_c/files/app/files/report.md')
  })

  it.each([
    ['fi:turn_o.files/a.md', 'turn_c/files/a.md'],
    ['fi:turn_c.files/a.md', 'turn_c/files/a.md'],
    ['fi:turn_o.outputs/a.md', 'turn_c/outputs/a.md'],
    ['conv:fi:conv_other.turn_o.files/a.md', 'turn_c/files/a.md'],
    ['fi:turn_o.user.attachments/a.png', 'turn_c/files/a.png'],
  ])('accepts the logical path %s, with a notice', (input, physical) => {
    expect(at(input)).toMatchObject({ ok: true, physical, rewrite: { original: input, normalized: physical, notify: true } })
  })

  it.each([
    'fi:turn_o.secret/a.md',
    'fi:turn_o.files',
    'fi:turn_o.files/app/',
    'fi:x',
    'ar:turn_o.user.prompt',
    'https://a.b/c',
    'notes: a',
    ':',
  ])('rejects %s, which names no file', (input) => {
    expect(codeOf(input)).toBe('invalid_write_logical_path')
  })

  it.each(['', ' ', '\n'])('asks for a path when given %j', (input) => {
    expect(codeOf(input)).toBe('missing_path')
  })

  it('takes the first folder for a turn only when it looks like one or is a known turn', () => {
    expect(codeOf('t1/files/a.md')).toBe('turn_c/files/t1/files/a.md')
    expect(codeOf('t1/files/a.md', { ...scope, knownTurns: new Set(['t1']) })).toBe('turn_c/files/a.md')
    expect(codeOf('t1/secret/a.md', { ...scope, knownTurns: new Set(['t1']) })).toBe('unsafe_path')
    expect(codeOf('t9/files/a.md', { currentTurn: 't9' })).toBe('t9/files/a.md')
  })

  it('normalises accents, so that one name is one file', () => {
    expect(at('turn_c/files/re\u0301sume\u0301.md')).toMatchObject({
      physical: 'turn_c/files/r\u00e9sum\u00e9.md',
      rewrite: { notify: false },
    })
  })

  it.each([
    'turn_c/files',
    'turn_c/files/',
    'files/',
    'turn_o/../turn_c/files/x',
    'files//x',
    './x',
    '\\\\server\\share',
    'files\\x',
    'files/.git/config',
    'files/app/.GIT/hooks/post-commit',
    'files/.git./config',
    'files/%2e%2e/%2E%2E/x',
    'files/..%2f..%2fx',
    'files/\u202ex.md',
    'files/a\u200bb',
    'files/a:b',
    'files/\ud800',
    `files/${'a'.repeat(256)}`,
    `files/${'a/'.repeat(600)}b`,
    'C:/x',
    'fi:turn_o.files/../../x',
    'fi:turn_o.files//etc/passwd',
    'c:x',
  ])('rejects %j as unsafe', (input) => {
    expect(codeOf(input)).toBe('unsafe_path')
  })

  it('never repeats a hostile input: 10 MB in, one line out', () => {
    for (const piece of ['a', '../', 'fi:turn_o.files/', '\u0301', '%2e', 'turn_o/']) {
      const target = at(piece.repeat(Math.ceil(10_000_000 / piece.length)))
      expect(target).toMatchObject({ ok: false, code: 'unsafe_path' })
      expect(JSON.stringify(target).length).toBeLessThan(200)
    }
  })
})

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...[
          '/',
          '\\',
          '..',
          '.',
          '%2e%2e',
          '%2f',
          '\0',
          '\u202e',
          '\u200b',
          ':',
          'C:',
          'fi:',
          'conv:',
          'conv_x.',
          '~',
          '.git',
          '\u0301',
          '\ufeff',
        ],
        ...[
          'turn_c',
          'turn_o',
          '.files/',
          '.outputs/',
          '.user.attachments/',
          'files',
          'outputs',
          'attachments',
          '/etc/passwd',
          'file://',
          ' ',
          '\n',
        ],
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

it('never leads outside the current turn, whatever the input; the result is stable and has one logical path', () => {
  let accepted = 0
  fc.assert(
    fc.property(hostile, fc.constantFrom<'files' | 'outputs'>('files', 'outputs'), (input, defaultArea) => {
      const target = normalizeTarget(input, { currentTurn: 'turn_c', knownTurns: new Set(['t1']), defaultArea })
      if (!target.ok) return
      accepted++
      const { physical, logical } = target
      expect(physical).toMatch(/^turn_c\/(files|outputs)\/[^/]/)
      expect(new URL(physical, 'http://host/out/').href.startsWith('http://host/out/turn_c/')).toBe(true)
      expect(physical.split(/[/\\]/)).not.toContain('..')
      expect(normalizeTarget(physical, { currentTurn: 'turn_c' })).toEqual({ ok: true, physical, logical })
      expect(canonicalPath(logical)).toBe(logical)
    }),
    { numRuns: 2000 },
  )
  expect(accepted).toBeGreaterThan(100)
})
