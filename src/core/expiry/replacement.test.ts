import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blockOrigin, call, minute, prompt, result, withIds } from '../../testing/blocks.ts'
import { artifactDigestBlock, attachmentBlocks, type Block, type Draft, decisionNotesBlock } from '../block/index.ts'
import { createEstimator } from '../estimate/estimate.ts'
import { roughTokens } from '../estimate/tokens.ts'
import { defaultExpirySettings } from './expiry.ts'
import { draftReplacement, type ExpiryGroup, replacementText } from './replacement.ts'

const tokens = createEstimator(roughTokens)

describe('replacement texts', () => {
  const group = (drafts: readonly Draft[], toolId?: string): ExpiryGroup => {
    const blocks = withIds(drafts)
    return { path: blocks.at(-1)?.path as string, blocks, toolId }
  }
  const settings = defaultExpirySettings
  const callWith = (params: object): Draft => ({ ...call('c1'), text: JSON.stringify({ tool_id: 'x.y', tool_call_id: 'c1', params }) })

  it('timeline 11.80: a ref: stays whole, another string is cut at the field limit and the call says so', () => {
    const ref = `ref:fi:t1.files/${'x'.repeat(1500)}`
    const text = draftReplacement(group([callWith({ ref, long: 'y'.repeat(1500), short: 'z' })]), settings)
    expect(JSON.parse(text)).toEqual({
      tool_id: 'x.y',
      tool_call_id: 'c1',
      params: { ref, long: `${'y'.repeat(1000)}...[truncated]`, short: 'z' },
      truncated: true,
    })
  })

  it('keeps every digest of a call, without hosting handles', () => {
    const digest = (name: string) => ({ artifact_path: `fi:t1.files/${name}`, mime: 'text/csv' })
    const leaky = { ...result('c1', JSON.stringify({ ...digest('c'), hosted_uri: 's3://secret' })), mime: 'application/json' }
    const text = draftReplacement(
      group([artifactDigestBlock(blockOrigin('c1'), digest('a')), artifactDigestBlock(blockOrigin('c1'), digest('b')), leaky]),
      settings,
    )
    expect(text.split('\n').map((line) => JSON.parse(line).artifact_path)).toEqual(['fi:t1.files/a', 'fi:t1.files/b', 'fi:t1.files/c'])
    expect(text).not.toContain('secret')
  })

  it('names the artifacts of a call whose report is hidden with them', () => {
    const text = draftReplacement(
      group(
        [artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'fi:t1.outputs/a.csv' }), result('c1', 'exec report')],
        'exec_tools.execute_code_python',
      ),
      settings,
    )
    expect(JSON.parse(text)).toEqual({
      tool_id: 'exec_tools.execute_code_python',
      tool_call_id: 'c1',
      result: 'exec report',
      artifacts: ['fi:t1.outputs/a.csv'],
    })
  })

  it('reduces rows and search hits to the fields that are needed to find them again', () => {
    const rows = [{ sid: 1, url: 'u', title: 't', content: 'c'.repeat(500), favicon: 'f' }]
    const row = JSON.parse(draftReplacement(group([result('c1', JSON.stringify(rows))], 'web_tools.web_fetch'), settings)).result[0]
    expect(row).toEqual({ sid: 1, url: 'u', title: 't', content_preview: `${'c'.repeat(320)}...[truncated]`, content_length: 500 })
    const hits = {
      hits: [{ turn_id: 't1', score: 1, secret: 1, snippets: [{ role: 'user', path: 'ar:t1.user.prompt', text: 'x', extra: 1 }] }],
    }
    const hit = JSON.parse(draftReplacement(group([result('c1', JSON.stringify(hits))], 'react.memsearch'), settings)).result
    expect(hit).toEqual({ hits: [{ turn_id: 't1', score: 1, snippets: [{ role: 'user', path: 'ar:t1.user.prompt', text: 'x' }] }] })
  })

  it('names a file by path, type, size and summary', () => {
    const attached = attachmentBlocks('t1', minute(0), { name: 'm.pdf', mime: 'application/pdf', size_bytes: 42, summary: 'the\nmenu' })
    expect(draftReplacement(group(attached), settings)).toBe(
      '[TRUNCATED FILE] path=fi:t1.user.attachments/m.pdf mime=application/pdf size=42 summary=the menu',
    )
    expect(draftReplacement(group([prompt('hello')]), settings)).toBe('[TRUNCATED] hello')
    expect(replacementText(group([decisionNotesBlock(blockOrigin('c1'), 'I look')]), settings, tokens)).toBe('')
  })

  it('fit their bound: first with long parts cut, then as a few lines, then as the path alone', () => {
    const replace = (params: object, max = 240) =>
      replacementText(group([callWith(params)]), { ...settings, replacementMaxTokens: max }, tokens)
    expect(JSON.parse(replace({ long: 'y'.repeat(1500) })).params.long).toBe(`${'y'.repeat(320)}...[truncated]`)
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, 'v'.repeat(400)]))
    expect(replace(many).split('\n')[0]).toBe('tool_id: x.y')
    expect(replace(many, 1)).toBe('[TRUNCATED] path=tc:t1.c1.call')
  })

  it('never exceed the bound, whatever is hidden', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 0, max: 400 }), (value, max) => {
        const one: readonly Block[] = withIds([result('c1', JSON.stringify(value))])
        const text = replacementText(
          { path: 'tc:t1.c1.result', blocks: one, toolId: 'x.y' },
          { ...settings, replacementMaxTokens: max },
          tokens,
        )
        const original = tokens.content(one[0] as Block)
        expect(roughTokens(text)).toBeLessThanOrEqual(Math.max(24, Math.min(max, Math.max(original + 64, 2 * original))))
      }),
    )
  })
})
