import { afterAll, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { createAgent } from '../../src/wiring/agent.ts'
import { hasBrowser } from './render.ts'

const clock = createFixedClock()
const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
const content = '# Report\n\nText.'
const model = scriptedModel([
  reply.call('rendering_tools.write_docx', { path: 'files/report.docx', content }),
  reply.call('rendering_tools.write_pdf', { path: 'files/report.pdf', content }),
  reply.answer('Both are made.'),
])
const agent = createAgent({ model, store, clock })
afterAll(() => agent.close())

it.skipIf(!hasBrowser)(
  'an agent has the tools for documents, and a turn records a digest for each file and the bytes of the PDF',
  async () => {
    const { ok } = await agent.run('c', 'Make a report').result
    expect(ok).toBe(true)
    const system = model.requests.find(({ role }) => role === 'decision')
    for (const name of ['pdf', 'png', 'docx', 'pptx']) expect(JSON.stringify(system)).toContain(`rendering_tools.write_${name}`)
    const results = []
    for await (const { change } of store.readJournal('c', { after: 0 })) {
      if (change.type === 'blocks.appended') results.push(...change.blocks.filter(({ type }) => type === 'react.tool.result'))
    }
    const [docx, docxFile, pdf, pdfFile] = results
    expect(JSON.parse(docx?.text ?? '')).toMatchObject({
      physical_path: expect.stringMatching(/\/files\/report\.docx$/),
      kind: 'file',
      visibility: 'external',
    })
    expect([docxFile?.text, docxFile?.blob]).toEqual([undefined, undefined])
    expect(JSON.parse(pdf?.text ?? '')).toMatchObject({ mime: 'application/pdf', pages: 1 })
    expect([pdfFile?.mime, pdfFile?.blob !== undefined]).toEqual(['application/pdf', true])
  },
)
