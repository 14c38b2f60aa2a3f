import fc from 'fast-check'
import { expect, it } from 'vitest'
import { coalesce, type RunBlock, sameRun } from './runs.ts'
import { blockSpans } from './spans.ts'
import { textPart } from './text.ts'
import type { Part } from './types.ts'

const image: Part = { type: 'image', media_type: 'image/png', blob: { sha256: 'a'.repeat(64), size: 10 } }
const texts = fc.constantFrom('', 'one line', 'two\nlines', 'ends\n\n', '\n', 'ünï\u{1f600}')
const blocks: fc.Arbitrary<readonly RunBlock[]> = fc.array(
  fc.record({
    parts: fc
      .array(fc.oneof({ weight: 4, arbitrary: texts.map(textPart) }, { weight: 1, arbitrary: fc.constant(image) }), {
        minLength: 1,
        maxLength: 3,
      })
      .map((parts): readonly Part[] => parts),
    round: fc.option(fc.nat(2), { nil: undefined }),
    joined: fc.boolean(),
  }),
  { maxLength: 12 },
)

/** The parts of a prompt, made run by run as the renderer does it. */
function partsOf(shown: readonly RunBlock[], points: readonly number[]): readonly Part[] {
  const parts: Part[] = []
  let from = 0
  shown.forEach((block, position) => {
    const next = shown[position + 1]
    if (next && sameRun(block, next) && !points.includes(position)) return
    parts.push(...coalesce(shown, from, position + 1))
    from = position + 1
  })
  return parts
}

it('the spans of the blocks cover every part of the prompt once and in order', () => {
  fc.assert(
    fc.property(blocks, fc.array(fc.nat(11), { maxLength: 3 }), (shown, points) => {
      const parts = partsOf(shown, points)
      const spans = blockSpans(shown, points)
      for (const [index, part] of parts.entries()) {
        const own = spans.filter((span) => span.part === index)
        expect(own.length).toBeGreaterThan(0)
        if (part.type !== 'text') expect(own).toEqual([{ position: own[0]?.position, part: index, start: 0, end: 0 }])
        else expect(own.map(({ start, end }) => part.text.slice(start, end)).join('')).toBe(part.text)
      }
      expect(spans.every(({ part }) => part < parts.length)).toBe(true)
      for (const { position, part, start, end } of spans) {
        const sent = parts[part]
        const first = shown[position]?.parts.find(({ type }) => type === 'text')
        if (sent?.type === 'text' && first?.type === 'text') expect(sent.text.slice(start, end)).toContain(first.text.trimEnd())
      }
    }),
    { numRuns: 500 },
  )
})
