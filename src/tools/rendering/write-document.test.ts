import { afterAll, describe, expect, it } from 'vitest'
import { gradientPng } from '../../../test/rendering/sample-report.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { createDocumentRenderer } from '../../adapters/documents/renderer.ts'
import { artifactContentBlock, artifactDigestBlock, type Draft } from '../../core/block/index.ts'
import { localScope } from '../../core/scope.ts'
import type { DocumentRenderer, RenderedDocument, RenderRequest } from '../../ports/documents.ts'
import { blockOrigin, header, prompt } from '../../testing/blocks.ts'
import { deliver } from '../artifacts/deliver.ts'
import { resultDrafts } from '../outcome.ts'
import type { Outcome, Tool } from '../tool.ts'
import { readSmallEntry, readZip } from '../zip.ts'
import { createRenderingTools } from './tools.ts'

const renderer = createDocumentRenderer()
afterAll(() => renderer.close())

/** A renderer that records its requests and returns the same bytes for each. Mentions are found by the real renderer. */
function recordingRenderer(result: Partial<RenderedDocument> = {}) {
  const requests: RenderRequest[] = []
  const recording: DocumentRenderer = {
    kinds: new Set(['pdf', 'png', 'docx', 'pptx']),
    mentions: renderer.mentions,
    async render(request) {
      requests.push(request)
      return { bytes: Buffer.from(`%PDF-1.4\n${' '.repeat(600)}%%EOF`), remarks: [], ...result }
    },
    close: async () => {},
  }
  return { requests, tools: createRenderingTools(recording) }
}

const find = (tools: readonly Tool[], name: string) => tools.find(({ id }) => id === `rendering_tools.write_${name}`) as Tool

const picture = Uint8Array.from(gradientPng(8, 8, 99))

/** A turn `turn_old` whose file p.png is recorded in the journal but not in the workspace. */
async function withOldPicture(): Promise<Awaited<ReturnType<typeof toolFixture>>> {
  const path = 'fi:turn_old.user.attachments/p.png'
  return toolFixture(
    async (blobs): Promise<readonly Draft[]> => {
      const blob = await blobs.put(picture)
      const origin = blockOrigin('w', 'turn_old')
      return [
        header('turn_old'),
        artifactDigestBlock(origin, { artifact_path: path, mime: 'image/png' }),
        artifactContentBlock(origin, { path, mime: 'image/png', blob, digest: { artifact_path: path } }),
        header('turn_now'),
        prompt('go', 'turn_now'),
      ]
    },
    {
      turnId: 'turn_now',
      sources: [
        { url: 'https://a.example/', title: 'A page' },
        {
          physical_path: 'turn_old/attachments/p.png',
          artifact_path: path,
          mime: 'image/png',
          title: 'A picture',
          source_type: 'attachment',
        },
        { physical_path: 'turn_old/attachments/gone.png', mime: 'image/png', title: 'Gone' },
      ],
    },
  )
}

const codesOf = (outcome: Outcome) => (outcome.notices ?? []).map(({ code }) => code)

describe('a document', () => {
  it('tools 18.89 is made with files of earlier turns, which are fetched first; a missing file is named in a notice', async () => {
    const { run, call } = await withOldPicture()
    const { requests, tools } = recordingRenderer()
    const content =
      '<img src="turn_old/attachments/p.png"><img srcset="turn_old/attachments/lost.png 2x"><a href="https://x.example/">x</a>'
    const outcome = await run(find(tools, 'pdf'), { path: 'files/a.pdf', content, format: 'html' })
    expect(outcome).toMatchObject({
      ok: true,
      notices: [{ code: 'tool_call_error.missing_assets', missing: ['turn_old/attachments/lost.png'] }],
    })
    const { files } = await call.workspace()
    expect(await files.read('turn_old/attachments/p.png')).toEqual(picture)
    expect(await requests[0]?.readAsset('turn_old/attachments/p.png')).toEqual(picture)
    expect(await requests[0]?.readAsset('turn_old/attachments/p.png?x#y')).toEqual(picture)
    expect(await files.read('turn_now/files/a.pdf')).toBeDefined()
  })

  it('can read no file outside of the folders of the turns', async () => {
    const { run, call } = await withOldPicture()
    const { requests, tools } = recordingRenderer()
    await (await call.workspace()).files.write('secret/x.txt', Buffer.from('x'))
    await run(find(tools, 'pdf'), { path: 'a.pdf', content: 'x' })
    const addresses = [
      '../x',
      '/etc/passwd',
      'turn_now/../secret/x.txt',
      'turn_now/files/..%2f..%2fsecret/x.txt',
      'secret/x.txt',
      'timeline.json',
      '%',
      'file:///etc/passwd',
      'C:\\x',
      'turn_now/files/a%00b',
    ]
    for (const address of addresses) expect(await requests[0]?.readAsset(address), address).toBeUndefined()
  })

  it('finds addresses in styles, sets, objects and links, and in Markdown', async () => {
    const html = `<style>@import "turn_a/files/s.css"; p{background:url( 'turn_a/files/b.png' )}</style><p style="background:url(turn_a/files/c.png)"><object data=turn_a/files/d.svg></object>
      <img srcset="turn_a/files/e.png, turn_a/files/f.png 2x" src="data:image/png;base64,AA"><a href="turn_a/files/g.html#x">g</a><a href="mailto:x@y">m</a><a href="//host/h">h</a><a href="#top">t</a><img src="/abs.png"><video poster="turn_a/files/i.png">`
    const found = ['s.css', 'b.png', 'c.png', 'd.svg', 'e.png', 'f.png', 'g.html#x', 'i.png'].map((name) => `turn_a/files/${name}`)
    expect([...(await renderer.mentions(html, 'html'))].sort()).toEqual(found.sort())
    const markdown =
      '![a](<turn_a/files/a b.png> "t") [l](turn_a/files/l.pdf) ![x][r]\n\n[r]: turn_a/files/r.png\n\n```\n![no](turn_a/files/no.png)\n```'
    expect(await renderer.mentions(markdown, 'markdown')).toEqual(['turn_a/files/a%20b.png', 'turn_a/files/l.pdf', 'turn_a/files/r.png'])
    expect(await renderer.mentions('graph TD; A-->B', 'mermaid')).toEqual([])
  })

  it('has the sources in the order of their citations, and notices for those that are missing', async () => {
    const { run } = await withOldPicture()
    const { requests, tools } = recordingRenderer()
    const outcome = await run(find(tools, 'pdf'), {
      path: 'a.pdf',
      content: 'b [[S:2]] a [[S:1,2]] `[[S:1]]` [[S:9]] [[S:3]]\n\n[[S:2]]\n',
    })
    expect(codesOf(outcome)).toEqual(['tool_call_warning.missing_sources', 'tool_call_warning.missing_sid_assets'])
    expect(outcome.notices).toMatchObject([{ missing_sids: [9] }, { missing_sids: [3] }])
    expect(requests[0]?.sources).toEqual([
      { sid: 2, title: 'A picture', path: 'turn_old/attachments/p.png' },
      { sid: 1, title: 'A page', url: 'https://a.example/' },
      { sid: 3, title: 'Gone', path: 'turn_old/attachments/gone.png' },
    ])
    expect(requests[0]?.content).toContain('b <sup class="cite" data-sids="2"></sup> a <sup class="cite" data-sids="1,2"></sup> `[[S:1]]`')
    expect(requests[0]?.content).toContain('<figure><img src="turn_old/attachments/p.png"')
    expect(outcome.artifacts?.[0]?.digest).toMatchObject({
      sources_used: [1, 2, 3],
      artifact_path: 'fi:turn_now.files/a.pdf',
      kind: 'file',
      visibility: 'external',
    })
  })

  it('tools 18.91 that is very small has a warning and is delivered', async () => {
    const { drafts, hosted } = await delivered({ bytes: Buffer.from(`%PDF-1.4\n${' '.repeat(280)}%%EOF`) })
    expect(JSON.parse(drafts[0]?.text ?? '')).toMatchObject({ write_warning: 'file_unusually_small', visibility: 'external' })
    expect(hosted).toBe(1)
  })

  it('tools 18.92 for which the renderer returns nothing is an invalid artifact that no user gets', async () => {
    const { drafts, hosted, notices } = await delivered({ bytes: new Uint8Array() })
    expect(JSON.parse(drafts.find(({ type }) => type === 'react.tool.result')?.text ?? '')).toMatchObject({
      status: 'error',
      error: { code: 'artifact_invalid' },
      visibility: 'internal',
    })
    expect(notices).toContain('tool_result_error')
    expect(hosted).toBe(0)
  })

  it('has a digest and, as a PDF, its bytes', async () => {
    const { drafts } = await delivered({ pages: 2 })
    expect(drafts.map(({ path, mime }) => [path, mime])).toEqual([
      ['tc:turn_now.k.result', 'application/json'],
      ['fi:turn_now.files/a.pdf', 'application/pdf'],
    ])
    expect(JSON.parse(drafts[0]?.text ?? '')).toMatchObject({ pages: 2, size_bytes: 614, mime: 'application/pdf' })
    expect(drafts[1]?.blob).toBeDefined()
  })

  it('is rejected if the path is unsafe or has another extension, and if the content is empty or huge', async () => {
    const { run } = await withOldPicture()
    const { tools, requests } = recordingRenderer()
    const code = async (params: object) => (await run(find(tools, 'docx'), { path: 'a.docx', content: 'x', ...params })).error?.code
    expect(await code({ path: '../a.docx' })).toBe('unsafe_path')
    expect(await code({ path: 'a.md' })).toBe('wrong_extension')
    expect(await code({ content: ' \n' })).toBe('content_missing')
    expect(await code({ content: 'x'.repeat(500_001) })).toBe('content_too_large')
    expect(requests).toEqual([])
  })

  it('tools 18.8 for attachments/ is written to files/, with a notice', async () => {
    const { run, call } = await withOldPicture()
    const outcome = await run(find(createRenderingTools(renderer), 'docx'), {
      path: 'attachments/x.docx',
      content: '# A\n\ntext ![p](turn_old/attachments/p.png)',
    })
    expect(codesOf(outcome)).toEqual(['protocol_violation.path_rewritten'])
    const bytes = await (await call.workspace()).files.read('turn_now/files/x.docx')
    const entries = readZip(bytes ?? new Uint8Array()) ?? []
    const document = entries.find(({ name }) => name === 'word/document.xml')
    expect(document && readSmallEntry(bytes as Uint8Array, document, 1_000_000)?.toString()).toContain('text')
    expect(entries.some(({ name }) => name.startsWith('word/media/'))).toBe(true)
  })
})

/** Runs write_pdf with a renderer that returns this document, and makes the blocks of the result. */
async function delivered(result: Partial<RenderedDocument>) {
  const { run, call } = await withOldPicture()
  const outcome = await run(find(recordingRenderer(result).tools, 'pdf'), { path: 'a.pdf', content: 'x' })
  let hosted = 0
  const hosting = {
    async host() {
      hosted++
      return { key: 'k', hosted_uri: 'u', rn: 'r', blob: { sha256: '0', size: 1 } }
    },
  }
  const origin = { ...call.origin }
  const done = await deliver(origin, 'rendering_tools.write_pdf', outcome, {
    ...call,
    hosting: hosting as never,
    scope: localScope,
    eligibleMimes: [],
    exec: false,
    onProblem: () => {},
  })
  const all = resultDrafts(origin, done, { toolId: 'rendering_tools.write_pdf' })
  const notices = all.filter(({ type }) => type === 'react.notice').map(({ text }) => JSON.parse(text ?? '{}').code as string)
  return { drafts: all.filter(({ type }) => type === 'react.tool.result'), notices, hosted }
}
