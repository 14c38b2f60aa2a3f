import { join } from 'node:path'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'
import { createFileObjects } from '../../src/adapters/hosting/file-objects.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import type { NewFile } from '../../src/ports/hosting.ts'

export const filesIn = (folder: string) => createDiskFiles({ folder: join(folder, 'out') })

export const hostingIn = (folder: string) =>
  createHosting({
    objects: createFileObjects({ files: createDiskFiles({ folder: join(folder, 'hosted') }) }),
    blobs: createFileBlobs({ folder: join(folder, 'blobs') }),
  })

export const owner = { tenant: 't', project: 'p', user: 'u' }

/** The content of version `n`. Every part of it contains the number, so that a mix of two versions is detected. */
export const version = (n: number) => new TextEncoder().encode(`version ${n} `.repeat(4_000))

export const folderVersion = (n: number, files: number) =>
  new Map(Array.from({ length: files }, (_, file) => [file % 2 ? `deep/file-${file}` : `file-${file}-of-${n % 2}`, version(n)] as const))

export const hostedVersion = (n: number): NewFile => ({
  owner,
  conversationId: 'c',
  turnId: 'turn_1',
  stage: 'file',
  physicalPath: 'turn_1/files/a',
  mime: `text/plain; version=${n}`,
  ts: '2026-01-01T00:00:00.000Z',
  content: version(n),
})

const operations: Readonly<Record<string, (folder: string, n: number, files: number) => Promise<unknown>>> = {
  write: (folder, n) => filesIn(folder).write('turn_1/files/a', version(n)),
  replaceFolder: (folder, n, files) => filesIn(folder).replaceFolder('turn_1/files', folderVersion(n, files)),
  recover: (folder) => filesIn(folder).list(''),
  host: (folder, n) => hostingIn(folder).host(hostedVersion(n)),
}

export const runOnce = async (folder: string, operation: string, n = 2, files = 2) => operations[operation]?.(folder, n, files)

export async function runForever(folder: string, operation: string): Promise<void> {
  for (let n = 2; ; n++) {
    await runOnce(folder, operation, n, 12)
    process.stdout.write(`acknowledged ${n}\n`)
  }
}
