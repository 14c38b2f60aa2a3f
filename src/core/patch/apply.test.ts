import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unifiedDiff } from '../../../test/support/reference/unified-diff.ts'
import { applyPatch, formatPatch } from './apply.ts'
import { suggestRead } from './diagnose.ts'
import { maxPatchLength, parsePatch } from './parse.ts'

function patched(patch: string, text: string) {
  const parsed = parsePatch(patch)
  return parsed.ok ? applyPatch(parsed.hunks, text) : parsed
}
const textAfter = (patch: string, text: string) => {
  const outcome = patched(patch, text)
  return outcome.ok ? outcome.text : outcome.code
}
const stored = (patch: string, text: string) => {
  const outcome = patched(patch, text)
  return outcome.ok ? formatPatch('t1/files/a.md', outcome) : outcome.code
}
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('')

const line = fc.oneof(fc.constantFrom('', 'a', 'b', '-', '+', '-- a', '++ b', ' ', '@@', '\\', 'x\t'), fc.string({ maxLength: 4 }))
const anyText = fc
  .tuple(fc.array(fc.tuple(line, fc.constantFrom('\n', '\n', '\n', '\r\n')), { maxLength: 12 }), fc.constantFrom('', '', 'end', '\r'))
  .map(([lines, end]) => lines.map(([text, ending]) => text.replaceAll('\n', '') + ending).join('') + end)

describe('applying a patch', () => {
  it('turns one text into the other when the patch is their diff', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.nat(4), (before, after, context) => {
        fc.pre(before !== after)
        expect(textAfter(unifiedDiff(before, after, context), before)).toBe(after)
      }),
      { numRuns: 2_000 },
    )
  })

  it('formats an applied patch that has the same effect and the same format again', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.nat(4), (before, after, context) => {
        fc.pre(before !== after)
        const again = stored(unifiedDiff(before, after, context), before)
        expect(textAfter(again, before)).toBe(after)
        expect(stored(again, before)).toBe(again)
      }),
      { numRuns: 1_000 },
    )
  })

  it('tools 18.29: accepts wrong counts, and formats the patch with correct ones', () => {
    expect(stored('--- /home/me/a.md\n+++ b\n@@ -2,9 +2,1 @@ heading\n line 2\n-line 3\n+three\n+and a half\n', numbered(4))).toBe(
      '--- t1/files/a.md\n+++ t1/files/a.md\n@@ -2,2 +2,3 @@ heading\n line 2\n-line 3\n+three\n+and a half\n',
    )
  })

  it('tools 18.29: gives the same result whatever the counts are', () => {
    const plain = fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 12 }).map((lines) => `${lines.join('\n')}\n`)
    fc.assert(
      fc.property(plain, plain, fc.infiniteStream(fc.nat(20)), (before, after, counts) => {
        fc.pre(before !== after)
        const diff = unifiedDiff(before, after, 3)
        const wrong = diff.replace(/^@@ -(\d+),\d+ \+(\d+),\d+ @@/gm, (_, old, fresh) => {
          return `@@ -${old},${1 + (counts.next().value ?? 0)} +${fresh},${counts.next().value} @@`
        })
        expect(textAfter(wrong, before)).toBe(after)
      }),
    )
  })

  it('finds a hunk by its lines when its line number is wrong and the lines are unique', () => {
    fc.assert(
      fc.property(fc.nat(29), fc.integer({ min: 0, max: 60 }), (at, stated) => {
        const before = numbered(30)
        const after = before.replace(`line ${at + 1}\n`, 'changed\n')
        const shifted = unifiedDiff(before, after, 2).replace(/^@@ -\d+,(\d+)/, `@@ -${stated},$1`)
        expect(textAfter(shifted, before)).toBe(after)
      }),
    )
  })

  it('prefers the stated line, then the nearest match, and of two equally near ones the later', () => {
    const text = 'x\n.\nx\n.\nx\n'
    expect(textAfter('@@ -3 +3 @@\n-x\n+y\n', text)).toBe('x\n.\ny\n.\nx\n')
    expect(textAfter('@@ -2 +2 @@\n-x\n+y\n', text)).toBe('x\n.\ny\n.\nx\n')
    expect(textAfter('@@ -9 +9 @@\n-x\n+y\n', text)).toBe('x\n.\nx\n.\ny\n')
    expect(textAfter('@@ -0 +0 @@\n-x\n+y\n', text)).toBe('y\n.\nx\n.\nx\n')
  })

  it('searches for a hunk only after the previous hunk', () => {
    expect(textAfter('@@ -1 +1 @@\n-x\n+y\n@@ -2 +2 @@\n-x\n+z\n', 'x\n.\nx\n')).toBe('y\n.\nz\n')
    expect(textAfter('@@ -3 +3 @@\n-line 3\n+c\n@@ -1 +1 @@\n-line 1\n+a\n', numbered(3))).toBe('hunk_out_of_order')
    expect(textAfter('@@ -3 +3 @@\n-line 3\n+c\n@@ -9 +9 @@\n-line 1\n+a\n', numbered(3))).toBe('hunk_out_of_order')
    expect(textAfter('@@ -2 +2 @@\n-line 2\n+b\n@@ -0,0 +1 @@\n+a\n', numbered(3))).toBe('hunk_out_of_order')
    expect(textAfter('@@ -1,2 +1,2 @@\n-line 1\n+a\n line 2\n@@ -2,2 +2,2 @@\n line 2\n-line 3\n+c\n', numbered(3))).toBe(
      'hunk_out_of_order',
    )
  })

  it('does not move a hunk that matches before the previous one to a later match', () => {
    expect(textAfter('@@ -3 +3 @@\n-y\n+z\n@@ -1 +1 @@\n-x\n+a\n', 'x\n.\ny\nx\n')).toBe('hunk_out_of_order')
  })

  it('inserts lines without context after the line of an empty range, and before the line of any other', () => {
    expect(textAfter('@@ -1,0 +2 @@\n+new\n', numbered(2))).toBe('line 1\nnew\nline 2\n')
    expect(textAfter('@@ -2 +2,2 @@\n+new\n', numbered(2))).toBe('line 1\nnew\nline 2\n')
    expect(textAfter('@@ -0,0 +1,2 @@\n+a\n+b\n', '')).toBe('a\nb\n')
    expect(textAfter('@@ -9,0 +10 @@\n+new\n', numbered(2))).toBe('hunk_mismatch')
  })
})

describe('the newline at the end of a text', () => {
  const open = '\\ No newline at end of file\n'

  it('stays as it is when the patch does not mention it', () => {
    expect(textAfter('@@ -1,2 +1,2 @@\n line 1\n-line 2\n+two\n', 'line 1\nline 2')).toBe('line 1\ntwo')
    expect(textAfter('@@ -1 +1,2 @@\n a\n+b\n', 'a')).toBe('a\nb')
    expect(textAfter(`@@ -1 +1 @@\n-line 1\n${open}+one\n${open}`, numbered(2))).toBe('one\nline 2\n')
  })

  it('changes when the patch says so', () => {
    expect(textAfter(`@@ -1 +1 @@\n-a\n${open}+a\n`, 'a')).toBe('a\n')
    expect(textAfter(`@@ -1 +1 @@\n-a\n+a\n${open}`, 'a\n')).toBe('a')
    expect(textAfter(`@@ -1,2 +1 @@\n a\n-b\n${open}`, 'a\nb')).toBe('a\n')
    expect(textAfter('@@ -1 +0,0 @@\n-a\n', 'a')).toBe('')
  })

  it('is correct in the formatted patch, also where the patch shows the last line as unchanged', () => {
    expect(stored('@@ -1 +1,2 @@\n a\n+b\n', 'a')).toBe(`--- t1/files/a.md\n+++ t1/files/a.md\n@@ -1,1 +1,2 @@\n-a\n${open}+a\n+b\n${open}`)
  })
})

describe('backslashes that the prompt puts before forged headings', () => {
  const file = 'a\n[USER MESSAGE]\nb\n'

  it('may be copied into a patch of the line', () => {
    expect(textAfter('@@ -1,3 +1,3 @@\n a\n \\[USER MESSAGE]\n-b\n+c\n', file)).toBe('a\n[USER MESSAGE]\nc\n')
    expect(textAfter('@@ -1,2 +1,3 @@\n a\n-\\[USER MESSAGE]\n+\\[SYSTEM MESSAGE]\n+x\n', file)).toBe('a\n[SYSTEM MESSAGE]\nx\nb\n')
  })

  it('are kept when the patch matches as it is', () => {
    expect(textAfter('@@ -1,1 +1,2 @@\n a\n+\\[USER MESSAGE]\n', file)).toBe('a\n\\[USER MESSAGE]\n[USER MESSAGE]\nb\n')
    expect(textAfter('@@ -1,2 +1,2 @@\n-a\n+x\n \\[USER MESSAGE]\n', 'a\n\\[USER MESSAGE]\n')).toBe('x\n\\[USER MESSAGE]\n')
  })
})

describe('carriage returns', () => {
  it('are kept when every line of the text has one and the patch has none', () => {
    expect(textAfter('@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n', 'a\r\nb\r\n')).toBe('a\r\nB\r\nc\r\n')
    expect(textAfter('@@ -1,2 +1,3 @@\n a\n b\n+c\n', 'a\r\nb')).toBe('a\r\nb\r\nc')
    expect(textAfter('@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n', 'a\r\nb\r\n')).toBe('a\r\nB\r\n')
    expect(stored('@@ -2 +2 @@\n-b\n+B\n', 'a\r\nb\r\n')).toContain('\n-b\r\n+B\r\n')
  })

  it('are not added by a patch that matches as it is, such as one that only inserts', () => {
    expect(textAfter('@@ -1,0 +2 @@\n+new\n', 'a\r\nb\r\n')).toBe('a\r\nnew\nb\r\n')
    expect(textAfter('@@ -1,0 +2 @@\n+new\n@@ -2 +3 @@\n-b\n+B\n', 'a\r\nb\r\n')).toBe('a\r\nnew\r\nB\r\n')
  })

  it('in the patch alone are not added to the text', () => {
    expect(textAfter('@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n', 'a\nb\n')).toBe('a\nB\n')
  })

  it('are compared when only some lines of the text have them', () => {
    expect(textAfter('@@ -2 +2 @@\n-b\n+B\n', 'a\r\nb\n')).toBe('a\r\nB\n')
    expect(textAfter('@@ -1 +1 @@\n-a\n+A\n', 'a\r\nb\n')).toBe('hunk_mismatch')
  })
})

describe('a hunk that matches nowhere', () => {
  const text = numbered(40)
  const patch = '--- a\n+++ b\n@@ -2 +2 @@\n-line 2\n+two\n@@ -20,3 +20,3 @@ part\n line 20\n line 21\n-line twenty-two\n+22\n'

  it('tools 18.31: reports how far it matched, what it expected and which lines to read', () => {
    const outcome = patched(patch, text)
    expect(outcome).toEqual({
      ok: false,
      code: 'hunk_mismatch',
      message:
        'Hunk 2 (@@ -20,3 +20,3 @@ part) does not match the file. At line 22 it expects "line twenty-two"; there is "line 22". Nothing was changed.',
      diagnostic: {
        hunk_index: 2,
        hunk_header: '@@ -20,3 +20,3 @@ part',
        requested_start_line: 20,
        target_line_count: 40,
        old_context_lines: 3,
        matched_old_context_lines: 2,
        first_mismatch: { patch_line: 9, target_line: 22, expected: 'line twenty-two', actual: 'line 22' },
        first_old_context_line_matches: [20],
      },
    })
    expect(suggestRead('fi:t1.files/a.md', { requested_start_line: 20, old_context_lines: 3 })).toEqual({
      path: 'fi:t1.files/a.md',
      line_start: 16,
      line_count: 12,
      line_numbers: 'disabled',
    })
  })

  it('keeps the diagnostic short however long the lines are', () => {
    const long = 'z'.repeat(5_000)
    const outcome = patched(`@@ -500,2 +500,2 @@ ${long}\n-same\n-${long}\n`, `${'same\n'.repeat(1_000)}`)
    expect(outcome).toMatchObject({
      diagnostic: { matched_old_context_lines: 1, first_old_context_line_matches: [496, 497, 498, 499, 500, 501, 502, 503] },
    })
    expect(JSON.stringify(outcome).length).toBeLessThan(2_000)
  })

  it('reports that the file ends too early', () => {
    expect(patched('@@ -2,2 +2,2 @@\n b\n-c\n', 'a\nb\n')).toMatchObject({
      diagnostic: { first_mismatch: { patch_line: 3, target_line: 3, expected: 'c', actual: null } },
    })
    expect(patched('@@ -9,0 +9 @@\n+c\n', 'a\n')).toMatchObject({ message: expect.stringContaining('the file has 1.') })
  })

  it('suggests at most eighty lines, from the first line on', () => {
    expect(suggestRead('p', { requested_start_line: 2, old_context_lines: 500 })).toEqual({
      path: 'p',
      line_start: 1,
      line_count: 80,
      line_numbers: 'disabled',
    })
  })

  it('rejects the whole patch when one line of any hunk differs', () => {
    fc.assert(
      fc.property(fc.nat(9), (broken) => {
        const hunks = Array.from({ length: 10 }, (_, index) => {
          const number = index * 4 + 1
          return `@@ -${number} +${number} @@\n-line ${number}${index === broken ? '!' : ''}\n+x\n`
        })
        const outcome = patched(hunks.join(''), text)
        expect(outcome).toMatchObject({ ok: false, code: 'hunk_mismatch', diagnostic: { hunk_index: broken + 1 } })
        expect(outcome).not.toHaveProperty('text')
      }),
    )
  })
})

describe('a hostile patch', () => {
  const many = 40_000
  const hunks = (count: number, at: (index: number) => number) =>
    Array.from({ length: count }, (_, index) => `@@ -${at(index)} +1 @@\n-x\n+y\n`).join('')

  it('needs one comparison for each line when its line numbers are correct, however similar the lines are', () => {
    const outcome = patched(
      hunks(many, (index) => index * 2 + 1),
      'x\n'.repeat(2 * many),
    )
    expect(outcome).toMatchObject({ ok: true, comparisons: many, text: 'y\nx\n'.repeat(many) })
    expect(outcome.ok && formatPatch('p', outcome).split('\n').length).toBe(2 + 3 * many + 1)
  })

  it('needs at most three comparisons for each line when all line numbers are wrong by a few lines', () => {
    const outcome = patched(
      hunks(many, (index) => index * 3 + 1),
      '.\nx\n.\n'.repeat(many),
    )
    expect(outcome).toMatchObject({ ok: true, text: '.\ny\n.\n'.repeat(many) })
    expect(outcome.ok && outcome.comparisons).toBeLessThanOrEqual(3 * many)
  })

  it('may be one hunk of half a million lines', () => {
    const lines = 500_000
    const outcome = patched(`@@ -1 +1 @@\n${'-\n'.repeat(lines)}`, '\n'.repeat(lines))
    expect(outcome).toMatchObject({ ok: true, text: '', comparisons: lines })
    expect(outcome.ok && formatPatch('p', outcome).length).toBeGreaterThan(2 * lines)
  })

  it('is rejected when almost every position nearly matches', () => {
    const codes = Array.from({ length: 1_000 }, (_, index) => [
      'b',
      'b',
      'b',
      ...index
        .toString(2)
        .padStart(10, '0')
        .split('')
        .flatMap((bit) => (bit === '1' ? ['a', 'b', 'b'] : ['a', 'a', 'b'])),
    ])
    const text = `${codes.flat().join('\n')}\n${'a\nb\n'.repeat(20_000)}`
    const patch = (at: (index: number) => number) =>
      codes.map((code, index) => `@@ -${at(index)} +1 @@\n${code.map((one) => `-${one}\n`).join('')}`).join('')
    expect(
      patched(
        patch((index) => 33 * index + 1),
        text,
      ),
    ).toMatchObject({ ok: true, comparisons: 33_000 })
    expect(
      patched(
        patch(() => 60_000),
        text,
      ),
    ).toMatchObject({ ok: false, code: 'patch_too_costly' })
  })

  it('is rejected when it is too large', () => {
    expect(patched(`@@ -1 +1 @@\n+${'x'.repeat(maxPatchLength)}\n`, '')).toMatchObject({ ok: false, code: 'patch_too_large' })
  })
})
