import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { accepted } from '../../../test/support/sample-files/accepted.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createPdfReader } from '../../adapters/documents/pdf.ts'
import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { ingest } from './ingest.ts'
import type { Upload } from './upload.ts'

const reader = createPdfReader()
afterAll(() => reader.close())

const good = accepted.map(([{ name, content }]) => ({ name, bytes: Buffer.from(content as string) }))
const pdfs = good.filter(({ name }) => name.endsWith('.pdf'))

/** A valid file that was changed: some bytes are edited, the file is cut, or another file is appended or mixed in. */
const mutated = (specimens: typeof good) =>
  fc
    .record({
      specimen: fc.constantFrom(...specimens),
      other: fc.constantFrom(...good),
      edits: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
      how: fc.constantFrom('edited' as const, 'cut' as const, 'followed' as const, 'mixed' as const),
      at: fc.nat(),
    })
    .map(({ specimen: { name, bytes }, other, edits, how, at }) => {
      const edited = Buffer.from(bytes)
      for (const [place, value] of edits) edited[place % edited.length] = value
      const cut = at % edited.length
      const content = {
        edited,
        cut: edited.subarray(0, cut),
        followed: Buffer.concat([edited, other.bytes]),
        mixed: Buffer.concat([edited.subarray(0, cut), other.bytes, edited.subarray(cut)]),
      }[how]
      return { name, content }
    })

const anyName = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...good.map(({ name }) => name)))
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc
    .tuple(fc.constantFrom(...good), fc.uint8Array({ maxLength: 200 }))
    .map(([{ bytes }, tail]) => Buffer.concat([bytes.subarray(0, 12), tail])),
)
const anything: fc.Arbitrary<Upload> = fc.record({
  name: anyName,
  content: anyBytes,
  mime: fc.constantFrom('image/png', 'text/plain', 'x', ''),
})

/** Ingests a file. Checks that it was stored completely or rejected with a reason. */
async function check(upload: Upload, documents: DocumentReader | undefined): Promise<'accepted' | 'rejected'> {
  const blobs = createMemoryBlobs()
  const problems: unknown[] = []
  const ports = {
    blobs,
    releaseBlobs: async () => {},
    documents,
    policy: {},
    report: (_: string, error: unknown) => void problems.push(error),
  }
  const outcome = await ingest({ text: '', uploads: [upload] }, ports).catch((error: unknown) => error)
  expect(problems).toEqual([])
  if (outcome instanceof Error) {
    expect(outcome).toBeInstanceOf(Failure)
    expect(outcome).toMatchObject({
      code: 'attachment.rejected',
      details: { attachments: [{ reason: expect.any(String), message: expect.any(String) }] },
    })
    return 'rejected'
  }
  const { attachments } = outcome as Awaited<ReturnType<typeof ingest>>
  expect(attachments).toHaveLength(1)
  for (const { name, blob, size_bytes } of attachments) {
    expect(unsafeReason(name)).toBeUndefined()
    expect(name).not.toContain('/')
    expect([blob?.size, Buffer.from(await blobs.get(blob?.sha256 ?? ''))]).toEqual([size_bytes, Buffer.from(upload.content as Uint8Array)])
  }
  return 'accepted'
}

/** Checks many files. Returns how many were accepted and how many rejected. */
async function checkAll(uploads: fc.Arbitrary<Upload>, numRuns: number, documents?: DocumentReader) {
  const count = { accepted: 0, rejected: 0 }
  await fc.assert(
    fc.asyncProperty(uploads, async (upload) => {
      count[await check(upload, documents)]++
    }),
    { numRuns },
  )
  return count
}

it('arbitrary bytes are stored completely or rejected with a reason', async () => {
  const { accepted, rejected } = await checkAll(anything, 1_000)
  expect(Math.min(accepted, rejected)).toBeGreaterThan(20)
})

it('valid files that were edited, cut or mixed with another are stored completely or rejected with a reason', async () => {
  const { accepted, rejected } = await checkAll(mutated(good), 2_000)
  expect(Math.min(accepted, rejected)).toBeGreaterThan(100)
})

it('damaged PDFs are stored completely or rejected with a reason when a PDF reader is installed', async () => {
  const { rejected } = await checkAll(mutated(pdfs), 40, reader)
  expect(rejected).toBeGreaterThan(5)
})

it('a valid file that is cut at any place is rejected, unless it is text', async () => {
  for (const { name, bytes } of good) {
    if (/\.(?:txt|md|csv|json|html|xml|yaml|ts)$|^Makefile$|^padded/.test(name)) continue
    for (let length = 1; length < bytes.length - (name.endsWith('.pdf') ? 1 : 0); length += 1 + Math.floor(bytes.length / 200)) {
      const upload = { name, content: bytes.subarray(0, length) }
      const ports = { blobs: createMemoryBlobs(), releaseBlobs: async () => {}, documents: undefined, policy: {}, report: () => {} }
      await expect(ingest({ text: '', uploads: [upload] }, ports), `${name} cut at ${length}`).rejects.toMatchObject({
        code: 'attachment.rejected',
      })
    }
  }
})
