import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBrowser } from '../../src/adapters/documents/browser/find-browser.ts'
import type { DocumentRenderer, RenderRequest } from '../../src/ports/documents.ts'
import { reportFiles, reportSources } from './sample-report.ts'

/** Whether this machine has a browser. With CI=true, the suites fail without one. */
export const hasBrowser = findBrowser() !== undefined || process.env.CI === 'true'

/** Renders with the sources and files of the sample report. */
export const renderWith =
  (renderer: DocumentRenderer) => (request: Pick<RenderRequest, 'kind' | 'format' | 'content'> & Partial<RenderRequest>) =>
    renderer.render({
      sources: reportSources,
      listSources: true,
      now: '2026-01-31T12:00:00.000Z',
      readAsset: async (path) => reportFiles.get(path),
      ...request,
    })

/** Runs a program of poppler-utils on a PDF, and returns what it writes. */
export function poppler(program: 'pdftotext' | 'pdfinfo' | 'pdfimages', bytes: Uint8Array, ...args: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-pdf-'))
  try {
    const file = join(folder, 'a.pdf')
    writeFileSync(file, bytes)
    if (program !== 'pdftotext') return execFileSync(program, [...args, file], { encoding: 'utf8' })
    execFileSync(program, [...args, file, join(folder, 'a.txt')])
    return readFileSync(join(folder, 'a.txt'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The size of a PNG. */
export const pngSize = (bytes: Uint8Array) => {
  const buffer = Buffer.from(bytes)
  return { width: buffer.readUInt32BE(16), height: buffer.readUInt32BE(20) }
}
