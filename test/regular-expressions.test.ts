import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { countAttempts } from './support/attacks/count.ts'
import { expressionsIn, type FoundExpression, findExpressions } from './support/regular-expressions/find.ts'
import { type ListedExpression, readList, showShape } from './support/regular-expressions/list.ts'
import { shapesOf } from './support/regular-expressions/shapes.ts'
import { everywhere, findSlow, showTiming, worstShapes } from './support/regular-expressions/time.ts'

// This is the one test that looks at the clock. An expression that takes quadratic time lets a small request stop the server for seconds,
// and no other observation shows that. The limits are far above what a linear expression needs, and the time
// for which the thread waits for a processor does not count.

const listPath = 'test/regular-expressions.txt'
const listed = readList(readFileSync(listPath, 'utf8'))
const found = findExpressions('src')
const keyOf = ({ file, code }: { readonly file: string; readonly code: string }) => `${file}\n  ${code}`

it('lists every regular expression of the sources', () => {
  const keys = new Set(listed.map(keyOf))
  const missing = found.filter((each) => !keys.has(keyOf(each)))
  expect([...new Set(missing.map(howToList))], `add these to ${listPath}`).toEqual([])
  const used = new Set(found.map(keyOf))
  expect(
    listed.map(keyOf).filter((key) => !used.has(key)),
    `remove these from ${listPath}`,
  ).toEqual([])
  expect(keys.size, 'an expression is listed twice for one file').toBe(listed.length)
})

it('lists slow texts or a reason for each expression, and what each call of RegExp makes', () => {
  const incomplete = listed.filter(({ shapes, trusted }) => (shapes.length === 0) === (trusted === undefined))
  expect(incomplete.map(keyOf)).toEqual([])
  const unknown = listed.filter(({ code, made, trusted }) => !code.startsWith('/') && made.length === 0 && trusted === undefined)
  expect(unknown.map(keyOf)).toEqual([])
})

it('reads a long text with each expression in linear time', { timeout: 300_000 }, async (context) => {
  countAttempts(context, listed.length)
  const slow: string[] = []
  for (const each of listed)
    for (const expression of timedExpressions(each)) {
      const read = everywhere(expression)
      const timing = await findSlow(read, [...each.shapes, ...worstShapes(read, shapesOf(expression), 3)])
      if (timing) slow.push(`${keyOf(each)}\n    ${showTiming(timing)}`)
    }
  expect(slow, 'rewrite these expressions').toEqual([])
})

it.each([
  ['one repeating part before the end', /[\s,]+$/],
  ['two repeating parts that share a text', /^(?:hi|hello)\b[\s\p{P}]*(?:there|you)?[\s\p{P}]*$/u],
  ['many starts that read far', /\beyJ[\w-]{8,}\.[\w-]+/g],
  ['a repeating part in a repeating part', /^(?:\d+,?)+;$/],
  ['a lazy part without its end', /<b>[\s\S]*?<\/b>/],
])('finds an expression that is not linear: %s', { timeout: 300_000 }, async (_, expression) => {
  const read = everywhere(expression)
  expect(await findSlow(read, worstShapes(read, shapesOf(expression), 3))).toBeDefined()
})

it('finds expressions where a division, a text or a comment looks like one', () => {
  const template = '`/no/$' + '{/yes/u.test(x) ? RegExp("b") : 1}`'
  const text = `const a = b / c / d // /no/\nconst e = "/no/g" + ${template}\nnew RegExp(\n  a,\n)`
  expect(expressionsIn('x.ts', text).map(({ code }) => code)).toEqual(['/yes/u', 'RegExp("b")', 'new RegExp( a, )'])
})

function timedExpressions({ file, code, made, trusted }: ListedExpression): readonly RegExp[] {
  if (trusted !== undefined) return []
  const expression = found.find((each) => each.file === file && each.code === code)?.expression
  return expression ? [expression] : made
}

function howToList(each: FoundExpression): string {
  const shapes = each.expression
    ? worstShapes(everywhere(each.expression), shapesOf(each.expression), 2).map(showShape)
    : ['= /what it makes/']
  return [keyOf(each), ...shapes.map((shape) => `    ${shape}`)].join('\n')
}
