import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { filePath } from './build.ts'
import { toLogical, toPhysical } from './physical.ts'

describe('a file has two names', () => {
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
  ])('%j has no place in OUT_DIR', (logical) => {
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
  ])('%j is no file of a turn', (physical) => {
    expect(toLogical(physical)).toBeUndefined()
  })

  it('a turn of any name has files once it is known', () => {
    expect(toLogical('t1/files/a')).toBeUndefined()
    expect(toLogical('t1/files/a', new Set(['t1']))).toBe('fi:t1.files/a')
    expect(toLogical('conv_1/files/a', new Set(['conv_1']))).toBeUndefined() // as an address it would lead into another conversation
  })

  it('tools 18.7: going to the disk and back gives the same name, also with .files/ inside it', () => {
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
