import { describe, expect, it } from 'vitest'
import { hasPreviewNumbers, isDiff, parsePatch } from './parse.ts'

/** The hunks of a patch. Each is a list of its start and its lines. A line begins with its side. */
function read(patch: string) {
  const parsed = parsePatch(patch)
  if (!parsed.ok) return parsed.code
  return parsed.hunks.map(({ start, lines }) => [
    start,
    ...lines.map(({ side, text, withoutNewline: cut }) => `${side}:${text}${cut ? '|' : ''}`),
  ])
}

describe('reading a unified diff', () => {
  it('skips headers and text around hunks', () => {
    const git = 'diff --git a/x.md b/x.md\nindex 1..2 100644\n--- a/x.md\t2024\n+++ b/x.md\n@@ -3,2 +3,2 @@ heading\n a\n-b\n+c\n'
    expect(read(git)).toEqual([[3, 'both:a', 'old:b', 'new:c']])
    expect(read('@@ -3,2 +3,2 @@\n a\n-b\n+c')).toEqual(read(git))
    expect(read('--- x.md\n@@ -3,2 +3,2 @@\n a\n-b\n+c\n-- \n2.43.0\n\n')).toEqual(read(git))
  })

  it('takes blank lines as context inside a hunk, and ignores them after it', () => {
    expect(read('@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\n@@ -9 +9 @@\n-d\n\n\n')).toEqual([
      [1, 'both:a', 'both:', 'old:b', 'new:c'],
      [9, 'old:d'],
    ])
    expect(read('@@ -1,1 +1,2 @@\n+a\n\n')).toEqual([[1, 'new:a', 'both:']])
  })

  it('keeps the marker for a missing newline at the end of the file', () => {
    expect(read('@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ Kein Zeilenumbruch\n')).toEqual([[1, 'old:a|', 'new:b|']])
  })

  it('reads a removed line that looks like a header, unless it has to be a header', () => {
    expect(read('--- q.sql\n+++ q.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new comment\n-x\n+y\n')).toEqual([
      [1, 'old:-- old comment', 'new:++ new comment', 'old:x', 'new:y'],
    ])
    expect(read('@@ -1 +1 @@\n--- one\n+++ two\n@@ -9 +9 @@\n-x\n+y\n')).toEqual([
      [1, 'old:-- one', 'new:++ two'],
      [9, 'old:x', 'new:y'],
    ])
  })

  it('joins several parts for one file, even when their counts are wrong', () => {
    const twice = '--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n--- a/x\n+++ b/x\n@@ -5,9 +5,9 @@\n-c\n+d\n'
    expect(read(twice)).toEqual([
      [1, 'old:a', 'new:b'],
      [5, 'old:c', 'new:d'],
    ])
  })

  it.each([
    ['--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n'],
    ['--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+b\n'],
    ['--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y.png b/y.png\nBinary files a/y.png and b/y.png differ\n'],
    [
      'diff --git a/y b/y\ndeleted file mode 100644\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n',
    ],
  ])('rejects a patch of two files', (patch) => {
    expect(read(patch)).toBe('patch_multiple_files')
  })

  it.each(['@@', '@@ ... @@', '@@ -1,2 @@', '@@ -a +b @@', '@@@ -1 -1 +1 @@@', `@@ -${'9'.repeat(40)} +1 @@`])(
    'rejects %s as a hunk header',
    (header) => {
      expect(read(`${header}\n-a\n+b\n`)).toBe('invalid_hunk_header')
    },
  )

  it('rejects a line without a valid first character instead of dropping the rest', () => {
    expect(read('@@ -1,2 +1,2 @@\n-a\n+b\n c\nforgotten\n+d\n')).toBe('invalid_hunk_line')
  })

  it.each(['--- a\n+++ b\n', '---\ntitle: front matter\n---\n', '@@ -1 +1 @@\n', '+++ plus', '--- a\n+++ b\n@@ -1 +1 @@\n\\ No newline\n'])(
    'finds no hunk in %j',
    (patch) => {
      expect(read(patch)).toBe('no_hunks_found')
    },
  )

  it('recognises a diff by its first line', () => {
    expect(['--- a', '\n  +++ b', '@@ -1 +1 @@', 'diff --git a/x b/x'].map(isDiff)).toEqual([true, true, true, true])
    expect(['# title', '- item', '+1', '-- comment', '', 'a\n@@ -1 +1 @@'].map(isDiff)).toEqual([false, false, false, false, false, false])
  })
})

describe('copied line numbers', () => {
  const copied = (...lines: readonly string[]) => `@@ -1 +1 @@\n${lines.join('\n')}\n`

  it('tools 18.35: are detected in a patch and in a whole text', () => {
    expect(hasPreviewNumbers(copied('      1\tone', '-     2\ttwo', '+     2\tzwei'), 'one\ntwo\n')).toBe(true)
    expect(hasPreviewNumbers('     1\tone\n     2\ttwo\n', 'one\ntwo\n')).toBe(true)
    expect(hasPreviewNumbers(`${'text\n'.repeat(100)}${'   7\tx\n'.repeat(5)}`, '')).toBe(true)
  })

  it('are detected by a single one beside the header of a view', () => {
    expect(hasPreviewNumbers('[READ RANGE]\nlines: [3-3]/9\n     3\tthree\n', 'three\n')).toBe(true)
    expect(hasPreviewNumbers('     3\tthree\n', 'three\n')).toBe(false)
  })

  it('are not detected in an ordinary patch or in a numbered file', () => {
    expect(hasPreviewNumbers(copied(' one', '-2 two', '+2. two'), 'one\n')).toBe(false)
    expect(hasPreviewNumbers(copied(' 1\tone', '-2\ttwo', '+2\tzwei'), '1\tone\n2\ttwo\n')).toBe(false)
    expect(hasPreviewNumbers(`${'text\n'.repeat(10)}1\tone\n2\ttwo\n`, '')).toBe(false)
  })
})
