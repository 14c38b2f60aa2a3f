import { afterAll, describe, expect, it } from 'vitest'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { createPdfReader } from '../../adapters/documents/pdf.ts'
import { attachmentBlocks } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { header, minute } from '../../testing/blocks.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { createReadTool } from '../react/read.ts'
import type { Outcome } from '../tool.ts'

const documents = createPdfReader()
afterAll(() => documents.close())

const path = 'fi:t1.user.attachments/a.pdf'
const read = createReadTool({ documents })

const withAttached = (bytes: Uint8Array, options: { hidden?: readonly string[] } = {}) =>
  toolFixture(async (blobs) => {
    const attachment = { name: 'a.pdf', mime: 'application/pdf', size_bytes: bytes.length, blob: await blobs.put(bytes) }
    return [header(), ...attachmentBlocks('t1', minute(0), attachment)]
  }, options)

const textOf = (outcome: Outcome) => (outcome.after ?? []).find((draft) => draft.path === path)?.text
const rowOf = (outcome: Outcome) => (outcome.output as { paths: unknown[] }).paths[0]

describe('a PDF, for a model that can not read PDF', () => {
  it('is shown as extracted text, page by page', async () => {
    const bytes = pdf(['The first page', '', 'And the last'])
    const outcome = await (await withAttached(bytes)).run(read, { paths: [path] })
    expect(textOf(outcome)).toBe(
      [
        `[EXTRACTED TEXT] application/pdf, 3 pages, ${bytes.length} bytes`,
        `path: ${path}`,
        'These are the words of the file. Pictures, drawings and the layout of tables are not in them.',
        '',
        '[page 1]\nThe first page\n\n[page 2]\n(no text)\n\n[page 3]\nAnd the last',
      ].join('\n'),
    )
    expect(rowOf(outcome)).toMatchObject({ path, mime: 'application/pdf', kind: 'extracted_text' })
  })

  it('has the limits of any text, and the call that reads on', async () => {
    const fixture = await withAttached(pdf(Array.from({ length: 100 }, (_, n) => `The words of page ${n + 1}`)))
    const short = createReadTool({ documents, limits: { symbols: 2_000 } })
    const first = await fixture.run(short, { paths: [path] })
    expect(rowOf(first)).toMatchObject({ status: 'truncated_for_visible_context', kind: 'extracted_text' })
    expect(textOf(first)?.length).toBeLessThanOrEqual(2_000)
    const [, next = ''] = /^continue: react\.read\((.*)\)$/m.exec(textOf(first) ?? '') ?? []
    expect(textOf(await fixture.run(short, JSON.parse(next)))).toMatch(/^\[READ RANGE\][\s\S]*\[page \d+\]/)
  })

  it('is still stored as PDF, and shown as PDF to a model that can read it', async () => {
    const bytes = pdf(['One page'])
    const fixture = await withAttached(bytes)
    const { after = [] } = await fixture.run(read, { paths: [path] })
    const again = await toolFixture(async (blobs) => {
      await blobs.put(bytes)
      return [header(), ...after]
    })
    const shown = await again.run(createReadTool(), { paths: [path] })
    expect(shown.after?.find((draft) => draft.path === path)).toMatchObject({ mime: 'application/pdf', blob: { size: bytes.length } })
  })

  it('is shown as text when it was hidden: revealing the blob would show nothing', async () => {
    const outcome = await (await withAttached(pdf(['One page']), { hidden: [path] })).run(read, { paths: [path] })
    expect(outcome.changes).toEqual([])
    expect(textOf(outcome)).toContain('[page 1]\nOne page')
  })

  it('gets the reason when it has no text', async () => {
    const protection = '<< /Filter /Standard /V 1 /R 2 /O <00> /U <00> /P -1 >>'
    const encrypted = pdf(['x'], { extra: [protection], trailer: '/Encrypt 6 0 R /ID [<00> <00>] ' })
    for (const [bytes, reason] of [
      [pdf(['', ' ']), /hold no text/],
      [Buffer.from('%PDF-1.7 and nothing more'), /it is damaged/],
      [encrypted, /protected by a password|damaged/],
    ] as const) {
      const text = textOf(await (await withAttached(bytes)).run(read, { paths: [path] }))
      expect(text).toMatch(/^\[NO TEXT\] application\/pdf/)
      expect(text).toMatch(reason)
    }
  })

  it('is replaced by a marker when it is too large, and not shown for stats_only', async () => {
    const fixture = await toolFixture([header()])
    await fixture.workspace.files.write('t1/files/large.pdf', Buffer.alloc(11 * 1024 * 1024))
    const large = await fixture.run(read, { paths: ['fi:t1.files/large.pdf'] })
    expect(rowOf(large)).toMatchObject({ status: 'too_large_for_visible_context_bytes' })
    const counted = await (await withAttached(pdf(['x']))).run(read, { paths: [path], stats_only: true })
    expect(counted.after).toEqual([])
  })

  it.each([
    ['none', [], true],
    ['any', undefined, false],
    ['PDF', ['application/pdf'], false],
  ] as const)('is shown as text, once, to a model that accepts documents: %s', async (_, shown, asText) => {
    const reads = (request: ModelRequest) => reply.call('react.read', { paths: [pathIn(request)] })
    const model = scriptedModel([reads, reads, reply.answer('Read.')], shown && { documents: shown })
    const { agent, conversationId, timeline } = createHarness({ replies: [], model, documents })
    await agent.run(conversationId, 'What?', { attachments: [{ name: 'a.pdf', content: pdf(['One page']) }] }).result
    const results = blocksOf(await timeline()).filter(({ type }) => type === 'react.tool.result')
    expect(results.filter(({ text }) => text?.includes('[page 1]\nOne page'))).toHaveLength(asText ? 1 : 0)
    expect(results.at(-1)?.text).toContain('exists_in_visible_context')
    expect(textIn(model.requests.at(-1)).includes('One page')).toBe(asText)
  })
})

const textIn = (request: ModelRequest | undefined) => (request?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
const pathIn = (request: ModelRequest) => /fi:\S+?a\.pdf/.exec(textIn(request))?.[0] ?? ''
