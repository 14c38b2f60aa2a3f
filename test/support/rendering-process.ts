// Started by test/rendering/exit.test.ts. Makes a PDF, writes a line, and closes the renderer when its input ends.
import { createDocumentRenderer } from '../../src/adapters/documents/renderer.ts'

const renderer = createDocumentRenderer()
await renderer.render({
  kind: 'pdf',
  format: 'markdown',
  content: 'x',
  sources: [],
  listSources: false,
  now: '2026-01-31T12:00:00.000Z',
  readAsset: async () => undefined,
})
console.log('ready')
process.stdin.resume().on('end', () => void renderer.close())
