import { afterAll, describe, expect, it, vi } from 'vitest'
import { accepted } from '../../../test/support/sample-files/accepted.ts'
import { hostile } from '../../../test/support/sample-files/hostile.ts'
import { png } from '../../../test/support/sample-files/images.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createPdfReader } from '../../adapters/documents/pdf.ts'
import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isTextMime } from '../mime.ts'
import { type IngestPorts, ingest } from './ingest.ts'
import type { AttachmentPolicy } from './policy.ts'
import type { Rejection, Upload } from './upload.ts'

const documents = createPdfReader()
afterAll(() => documents.close())

function ports(policy: AttachmentPolicy = {}) {
  const blobs = createMemoryBlobs()
  const put: BlobRef[] = []
  const problems: string[] = []
  const kept: IngestPorts['blobs'] = {
    has: blobs.has,
    put: async (bytes) => {
      const ref = await blobs.put(bytes)
      put.push(ref)
      return ref
    },
  }
  const releaseBlobs = async (refs: readonly BlobRef[]) => {
    for (const { sha256 } of refs) await blobs.remove(sha256)
  }
  return { blobs: kept, held: blobs, put, problems, releaseBlobs, documents, policy, report: (where: string) => void problems.push(where) }
}

async function rejectionsOf(uploads: readonly Upload[], given: IngestPorts, text = ''): Promise<readonly Rejection[]> {
  const error = await ingest({ text, uploads }, given).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof Failure) || error.code !== 'attachment.rejected') throw new Error(`not a rejection: ${error}`)
  return error.details.attachments as readonly Rejection[]
}

describe('accepted files', () => {
  it.each(accepted)('$name', async (upload, found) => {
    const given = ports()
    const { attachments, written } = await ingest({ text: '', uploads: [upload] }, given)
    const bytes = Buffer.from(upload.content as string)
    const snippet = attachments[0]?.snippet
    expect(attachments).toEqual([
      { name: upload.name, size_bytes: bytes.length, blob: given.put[0], ...(isTextMime(found.mime) && { snippet }), ...found },
    ])
    expect(snippet !== undefined && snippet !== '').toBe(isTextMime(found.mime))
    expect(written).toEqual(given.put)
    expect(Buffer.from(await given.held.get(given.put[0]?.sha256 ?? ''))).toEqual(bytes)
  })
})

describe('rejected files, of which nothing is stored', () => {
  it.each(hostile)('$what', async ({ upload, reason, finding }) => {
    const given = ports()
    const good = { name: 'good.txt', content: 'good' }
    const rejections = await rejectionsOf([good, upload()], given)
    const about = rejections.find(({ name }) => name !== 'good.txt')
    expect(about).toEqual({ name: expect.any(String), reason, ...(finding && { finding }), message: expect.stringMatching(/^\S.* .+\.$/) })
    expect(given.put).toEqual([])
    expect(given.problems).toEqual([])
  })

  it('have different messages for different defects', async () => {
    const names = new Set<string>()
    for (const { upload } of hostile)
      for (const { message, name } of await rejectionsOf([upload()], ports())) names.add(message.replace(name, ''))
    expect(names.size).toBeGreaterThan(25)
  })

  it('include all files of a message with too many', async () => {
    const uploads = Array.from({ length: 21 }, (_, index) => ({ name: `${index}.txt`, content: 'x' }))
    const rejections = await rejectionsOf(uploads, ports())
    expect(rejections).toHaveLength(21)
    expect(rejections[0]?.reason).toBe('message_size_limit')
  })

  it('include all files of a message that is too large together with its text', async () => {
    const upload = { name: 'a.txt', content: 'x'.repeat(5_000_000) }
    expect(await rejectionsOf([upload], ports(), 'y'.repeat(22_000_000))).toMatchObject([{ reason: 'message_size_limit' }])
  })

  it('are all listed in one failure', async () => {
    const uploads = [
      { name: 'a.png', content: 'x' },
      { name: 'b.txt', content: 'good' },
      { name: 'c.pdf', content: '' },
    ]
    expect(await rejectionsOf(uploads, ports())).toMatchObject([
      { name: 'a.png', finding: 'type_mismatch' },
      { name: 'c.pdf', reason: 'empty' },
    ])
  })
})

describe('a blob store that fails or is missing', () => {
  it('keeps the blobs that it had before the message, and none of the message', async () => {
    const given = ports()
    const before = await given.held.put(Buffer.from('before'))
    let puts = 0
    const failing: IngestPorts = {
      ...given,
      blobs: {
        has: given.held.has,
        put: async (bytes) => {
          if (++puts === 3) throw new Error('the disk is full')
          return given.held.put(bytes)
        },
      },
    }
    const uploads = ['before', 'new', 'newer'].map((content, index) => ({ name: `${index}.txt`, content }))
    expect(await rejectionsOf(uploads, failing)).toEqual([
      { name: '2.txt', reason: 'store_error', message: '2.txt could not be stored. Send the message again.' },
    ])
    expect(await given.held.has(before.sha256)).toBe(true)
    const { written } = await ingest({ text: '', uploads }, given)
    expect(written.map(({ size }) => size)).toEqual([3, 5])
  })

  it('rejects the message with the reason store_missing when there is none', async () => {
    expect(await rejectionsOf([{ name: 'a.txt', content: 'x' }], { ...ports(), blobs: undefined })).toMatchObject([
      { reason: 'store_missing' },
    ])
  })
})

describe('a scanner', () => {
  const upload = { name: 'a.png', content: png() }

  it('that finds malware rejects the file', async () => {
    const found = ports({ scan: async () => ({ clean: false, found: 'Eicar' }) })
    expect(await rejectionsOf([upload], found)).toMatchObject([
      { finding: 'infected', message: 'a.png contains malicious software (Eicar).' },
    ])
    const clean = await ingest({ text: '', uploads: [upload] }, ports({ scan: async () => ({ clean: true }) }))
    expect(clean.attachments).toHaveLength(1)
  })

  it('that fails rejects every file, unless unscanned is accept', async () => {
    const scan = async () => Promise.reject(new Error('down'))
    const closed = ports({ scan })
    expect(await rejectionsOf([upload], closed)).toMatchObject([{ reason: 'preflight_error' }])
    expect(closed.problems).toEqual(['attachment scan'])
    const open = ports({ scan, unscanned: 'accept' })
    expect((await ingest({ text: '', uploads: [upload] }, open)).attachments).toHaveLength(1)
  })

  it('is aborted after three seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const started = Promise.withResolvers<AbortSignal>()
      const scan: AttachmentPolicy['scan'] = (_, { signal }) => {
        started.resolve(signal)
        return new Promise(() => {})
      }
      const rejections = rejectionsOf([upload], ports({ scan }))
      const signal = await started.promise
      vi.advanceTimersByTime(2_999)
      expect(signal.aborted).toBe(false)
      vi.advanceTimersByTime(1)
      expect(signal.aborted).toBe(true)
      expect(await rejections).toMatchObject([{ reason: 'preflight_error' }])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a summary', () => {
  const uploads = [{ name: 'a.txt', content: 'x' }]

  it('is cut to the length that fits into the prompt', async () => {
    const { attachments } = await ingest({ text: '', uploads }, ports({ summarise: async ({ mime }) => `${mime} ${'y'.repeat(9_000)}` }))
    expect(attachments[0]?.summary).toMatch(/^text\/plain y{2389}$/)
  })

  it('that fails does not reject the message', async () => {
    const given = ports({ summarise: async () => Promise.reject(new Error('no model')) })
    expect((await ingest({ text: '', uploads }, given)).attachments[0]).not.toHaveProperty('summary')
    expect(given.problems).toEqual(['attachment summary'])
  })
})

it('reports a failed check, not a bad file, when no PDF reader is installed', async () => {
  const missing = async () => Promise.reject(new Failure('document.unreadable', 'no', { details: { reason: 'reader_missing' } }))
  const upload = accepted.find(([{ name }]) => name === 'a.pdf')?.[0]
  if (!upload) throw new Error('there is a PDF among the specimens')
  expect(await rejectionsOf([upload], { ...ports(), documents: { pdf: missing } })).toMatchObject([{ reason: 'preflight_error' }])
})
