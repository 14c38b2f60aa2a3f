import { describe, expect, it } from 'vitest'
import { unsafeReason, unwritableReason } from './safety.ts'

describe('a safe physical path', () => {
  it.each([
    'turn_1/files/a.md',
    'a',
    '...',
    'turn_1/attachments/\u5831\u544a \ud83d\ude00.pdf',
    'x/.gitignore',
    'x/git/a',
    '100%/a',
    `${'a'.repeat(255)}/b`,
  ])('allows %j', (path) => {
    expect(unsafeReason(path)).toBeUndefined()
  })

  it.each([
    ['', 'is empty'],
    ['/etc/passwd', 'is absolute'],
    ['\\\\host\\share', 'has a backslash'],
    ['C:/x', 'has a colon'],
    ['a\0b', 'has a control or invisible character'],
    ['a\u007fb', 'has a control or invisible character'],
    ['a/\u202eb', 'has a control or invisible character'],
    ['a/\u2066b', 'has a control or invisible character'],
    ['a/b\u200d', 'has a control or invisible character'],
    ['\ufeffa', 'has a control or invisible character'],
    ['a\udc00', 'has a control or invisible character'],
    ['a\u2028b', 'has a control or invisible character'],
    ['e\u0301', 'is not in Unicode form NFC'],
    ['a//b', 'has an empty segment'],
    ['a/', 'has an empty segment'],
    ['a/./b', 'has a "." segment'],
    ['a/../b', 'has a ".." segment'],
    ['a/%2E./b', 'has a percent-encoded dot segment or separator'],
    ['a/b%5cc', 'has a percent-encoded dot segment or separator'],
    ['a/.git', 'leads into .git'],
    ['.Git/config', 'leads into .git'],
    ['a/.git . /x', 'leads into .git'],
    ['GIT~1/x', 'leads into .git'],
    ['a'.repeat(256), 'has a segment longer than 255 bytes'],
    ['\u5831'.repeat(86), 'has a segment longer than 255 bytes'],
    ['a/'.repeat(512).concat('b'), 'is longer than 1024 bytes'],
    ['\u5831/'.repeat(300), 'is longer than 1024 bytes'],
  ])('%j %s', (path, reason) => {
    expect(unsafeReason(path)).toBe(reason)
  })

  it('allows writes only to files/ and outputs/ of the current turn', () => {
    const outside = "is outside the current turn's files/ and outputs/"
    expect(unwritableReason('turn_c/files/a', 'turn_c')).toBeUndefined()
    expect(unwritableReason('turn_c/outputs/a', 'turn_c')).toBeUndefined()
    expect(unwritableReason('turn_c/attachments/a', 'turn_c')).toBe(outside)
    expect(unwritableReason('turn_o/files/a', 'turn_c')).toBe(outside)
    expect(unwritableReason('turn_c/filesystem/a', 'turn_c')).toBe(outside)
    expect(unwritableReason('turn_c/files/../../a', 'turn_c')).toBe('has a ".." segment')
  })
})
