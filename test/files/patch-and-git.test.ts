import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { applyPatch, formatPatch } from '../../src/core/patch/apply.ts'
import { parsePatch } from '../../src/core/patch/parse.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-patch-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const env = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CEILING_DIRECTORIES: tmpdir(),
  LC_ALL: 'C',
}
const git = (args: readonly string[], input?: string) =>
  spawnSync('git', args, { cwd: folder, env, encoding: 'utf8', ...(input !== undefined && { input }) })

function gitDiff(before: string, after: string, context: number): string {
  writeFileSync(join(folder, 'before'), before)
  writeFileSync(join(folder, 'after'), after)
  return git(['diff', '--no-index', '--text', '--no-color', `-U${context}`, 'before', 'after']).stdout
}

/** The text after `git apply`. Undefined when git rejects the patch. */
function gitApply(patch: string, text: string, ...options: readonly string[]): string | undefined {
  writeFileSync(join(folder, 'a.md'), text)
  const { status } = git(['apply', '-p0', '--whitespace=nowarn', ...options, '-'], patch)
  return status === 0 ? readFileSync(join(folder, 'a.md'), 'utf8') : undefined
}

function ours(patch: string, text: string) {
  const parsed = parsePatch(patch)
  const applied = parsed.ok ? applyPatch(parsed.hunks, text) : parsed
  return applied.ok ? { text: applied.text, stored: formatPatch('a.md', applied) } : { text: applied.code, stored: '' }
}

const line = fc.constantFrom('', 'a', 'b', 'c', 'longer', '-- a', '++ b', '--- a', '@@ -1 +1 @@', '\\', ' ', '\t')
const text = fc
  .tuple(fc.array(fc.tuple(line, fc.constantFrom('\n', '\n', '\n', '\r\n')), { maxLength: 25 }), fc.constantFrom('', '', 'end'))
  .map(([lines, end]) => lines.map((parts) => parts.join('')).join('') + end)

describe('react.patch and git apply', () => {
  it('a diff of git, applied to the old text, gives the new text', () => {
    fc.assert(
      fc.property(text, text, fc.nat(3), (before, after, context) => {
        fc.pre(before !== after)
        expect(ours(gitDiff(before, after, context), before).text).toBe(after)
      }),
    )
  })

  it('git applies a stored patch with the same result', () => {
    fc.assert(
      fc.property(text, text, fc.nat(3), (before, after, context) => {
        fc.pre(before !== after && after !== '') // git would delete an empty file
        const { stored } = ours(gitDiff(before, after, context), before)
        expect(gitApply(stored, before, '--unidiff-zero')).toBe(after)
      }),
      { numRuns: 60 },
    )
  })

  const file = '--- a.md\n+++ a.md\n'
  it.each([
    ['counts that are wrong', '@@ -1,7 +1,9 @@\n a\n-b\n+B\n c\n', 'a\nb\nc\n', 'a\nB\nc\n', undefined],
    ['a hunk without leading context that has moved', '@@ -1,2 +1,3 @@\n+new\n a\n b\n', 'x\na\nb\nc\n', 'x\nnew\na\nb\nc\n', undefined],
    ['an end of file that the patch does not mention', '@@ -1,2 +1,3 @@\n a\n b\n+c\n', 'a\nb', 'a\nb\nc', undefined],
    ['a text whose lines end in CRLF', '@@ -1,2 +1,2 @@\n a\n-b\n+B\n', 'a\r\nb\r\n', 'a\r\nB\r\n', undefined],
    ['an insertion without context', '@@ -1,0 +2 @@\n+new\n', 'a\nb\n', 'a\nnew\nb\n', undefined],
    [
      'hunks in the wrong order',
      '@@ -5,3 +5,3 @@\n e\n-f\n+F\n g\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n',
      'a\nb\nc\nd\ne\nf\ng\nh\n',
      'hunk_out_of_order',
      'a\nb\nC\nd\ne\nF\ng\nh\n',
    ],
  ])('differ on %s', (_, hunks, before, ourResult, gitResult) => {
    expect(ours(file + hunks, before).text).toBe(ourResult)
    expect(gitApply(file + hunks, before)).toBe(gitResult)
  })
})
