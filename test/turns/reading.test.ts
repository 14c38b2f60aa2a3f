import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../src/ports/model.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'

// Two files are written, changed, hidden and read in any order, over several turns, with a real agent.

type Step =
  | { readonly kind: 'write' | 'change'; readonly file: string; readonly size: keyof typeof sizes }
  | { readonly kind: 'hide' | 'read' | 'read range'; readonly file: string }
  | { readonly kind: 'other tool' }
  | { readonly kind: 'next turn' }

/**
 * The number of characters before the line that identifies a version. A prompt shows 12,000 characters of a written file, and 48,000 of a
 * file that was read.
 */
const sizes = { small: 300, medium: 13_000, large: 30_000 }

/** A text with the line `mark` after about `size` characters. A large text goes on after this line. */
function textOf(mark: string, size: keyof typeof sizes): string {
  const filler = `${'some words of a file '.repeat(5)}\n`
  const before = filler.repeat(sizes[size] / filler.length + 1)
  return `${before}${mark}\n${size === 'large' ? before : ''}`
}

interface Version {
  readonly path: string
  readonly mark: string
  readonly by: 'write' | 'change'
}

/** Runs the steps. For each read, returns how often the next prompt contained the identifying line of the current version. */
async function run(steps: readonly Step[]): Promise<readonly { readonly step: number; readonly path: string; readonly shown: number }[]> {
  const current = new Map<string, Version>()
  const reads: { step: number; path: string; shown: number }[] = []
  let [turn, made, expected] = ['', 0, undefined as { step: number; version: Version } | undefined]
  let content = ''

  function observe({ parts }: ModelRequest) {
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    turn = [...text.matchAll(/ar:(turn_\w+)\.user\.prompt/g)].at(-1)?.[1] ?? ''
    if (expected) reads.push({ step: expected.step, path: expected.version.path, shown: text.split(expected.version.mark).length - 1 })
    expected = undefined
  }

  const newVersion = (file: string, by: Version['by'], size: keyof typeof sizes) => {
    const mark = `<the mark of version ${++made}>`
    current.set(file, { path: `fi:${turn}.files/${file}`, mark, by })
    content = textOf(mark, size)
  }

  const toReply =
    (step: Step, index: number): Reply =>
    (request) => {
      observe(request)
      if (step.kind === 'next turn') return reply.answer('Done.')
      if (step.kind === 'other tool') return reply.call('work.look', {})
      if (step.kind === 'write' || step.kind === 'change') {
        newVersion(step.file, step.kind, step.size)
        if (step.kind === 'change') return reply.call('work.change', { file: step.file })
        return reply.call('react.write', { path: `files/${step.file}`, channel: 'canvas', content, kind: 'display' })
      }
      const version = current.get(step.file)
      const isKnown = version && (version.by === 'write' || version.path.startsWith(`fi:${turn}.`))
      if (!isKnown) return reply.call('work.look', {})
      if (step.kind === 'hide') return reply.call('react.hide', { path: version.path, replacement_text: 'not needed now' })
      if (step.kind === 'read range') {
        return reply.call('react.read', { paths: [version.path], items: [{ path: version.path, line_start: 1, line_count: 2 }] })
      }
      expected = { step: index, version }
      return reply.call('react.read', { paths: [version.path] })
    }

  const change = defineTool({
    id: 'work.change',
    description: 'Changes a file, as a program would.',
    params: z.object({ file: z.string() }),
    async run({ file }, call) {
      await (await call.workspace()).files.write(`${call.origin.turnId}/files/${file}`, Buffer.from(content))
      return 'changed'
    },
  })
  const look = defineTool({ id: 'work.look', description: 'Looks around.', params: z.object({}), run: () => 'nothing to see' })
  const last: Reply = (request) => {
    observe(request)
    return reply.answer('Done.')
  }
  const replies = [...steps.map(toReply), last]
  const harness = createHarness({
    replies,
    model: scriptedModel(replies, { window: 10_000_000 }),
    tools: [change, look],
    settings: { contextTokens: 5_000_000, maxRounds: 100, keepRecentTurns: 100 },
  })
  for (let turns = steps.filter(({ kind }) => kind === 'next turn').length + 1; turns > 0; turns--) await harness.say('Go on.')
  expect(harness.model.requests.filter(({ role }) => role === 'decision')).toHaveLength(replies.length)
  await harness.agent.close()
  return reads
}

const file = fc.constantFrom('a.md', 'b.md')
const size = fc.constantFrom('small' as const, 'small' as const, 'medium' as const, 'large' as const)
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('write' as const), file, size }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('change' as const), file, size }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('hide' as const), file }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('read' as const), file }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('read range' as const), file }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('other tool' as const, 'next turn' as const) }) },
)

it('a read shows the current content exactly once in the prompt, whatever was written, hidden and read before', {
  timeout: 60_000,
}, async () => {
  let checked = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 3, maxLength: 16 }), async (steps) => {
      for (const { shown } of await run([{ kind: 'write', file: 'a.md', size: 'small' }, ...steps])) {
        expect(shown).toBe(1)
        checked++
      }
    }),
    { numRuns: 100 },
  )
  expect(checked).toBeGreaterThan(80)
})

it('a result of 72 KB that is read twice is in the prompt once', async () => {
  const harness = createHarness({
    replies: [
      reply.call('work.report', {}),
      ...Array.from(
        { length: 2 },
        (): Reply =>
          ({ parts }) => {
            const path = /logical_path: (tc:turn_\w+\.\w+\.result)/.exec(JSON.stringify(parts))?.[1]
            return reply.call('react.read', { paths: [path] })
          },
      ),
      reply.answer('Done.'),
    ],
    tools: [
      defineTool({
        id: 'work.report',
        description: 'A long report.',
        params: z.object({}),
        run: () => `${'a line of the report\n'.repeat(1_000)}the line in the middle\n${'a line of the report\n'.repeat(2_400)}`,
      }),
    ],
  })
  await harness.say('Read it.')
  const prompts = harness.model.requests.flatMap(({ role, parts }) => (role === 'decision' ? [JSON.stringify(parts)] : []))
  expect(prompts.map((text) => text.split('the line in the middle').length - 1)).toEqual([0, 0, 1, 1])
  expect(prompts.at(-1)).toContain('already visible')
})
