import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { artifactContentBlock, artifactDigestBlock, type Draft, internalNoteBlock, type Meta } from '../../core/block/index.ts'
import { publishPath } from '../../core/path/build.ts'
import { blockOrigin, header, withIds } from '../../testing/blocks.ts'
import { historyOf } from './history.ts'

const path = 'fi:t1.files/app/a.md'
const file = (content: { text?: string; mime?: string; meta?: Meta; blob?: { sha256: string; size: number } }, at = path): Draft =>
  artifactContentBlock(blockOrigin('k1'), { path: at, mime: content.mime ?? 'text/markdown', digest: { artifact_path: at }, ...content })

const blobs = createMemoryBlobs()
const put = (text: string) => blobs.put(Buffer.from(text))

function historyWith(...drafts: readonly Draft[]) {
  const blocks = withIds(drafts)
  const records = {
    byPath: async (wanted: string) => blocks.filter((block) => block.path === wanted),
    byTurn: async (turnId: string) => blocks.filter((block) => block.turn_id === turnId),
    byCall: async () => [],
    turnLog: async () => undefined,
  }
  return historyOf({ records, blobs })
}
const bytesAt = async (history: ReturnType<typeof historyWith>, at = path) => {
  const bytes = await history.bytes(at)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString()
}

describe('historyOf', () => {
  it('returns the newest version, for every spelling of a logical path', async () => {
    const history = historyWith(file({ text: 'one' }), file({ text: 'two' }))
    expect(await bytesAt(history)).toBe('two')
    expect(await bytesAt(history, `conv:${path}`)).toBe('two')
    expect(await bytesAt(history, 'fi:t1.files/other.md')).toBeUndefined()
    expect(await bytesAt(history, 't1/files/app/a.md')).toBeUndefined()
  })

  it('never returns a preview or a range', async () => {
    expect(await bytesAt(historyWith(file({ text: 'the first lines', meta: { partial: true } })))).toBeUndefined()
    expect(await bytesAt(historyWith(file({ text: 'all' }), file({ text: 'some', meta: { partial: true } })))).toBe('all')
  })

  it('returns the kept bytes, not the text that the block shows', async () => {
    expect(await bytesAt(historyWith(file({ text: 'al…', meta: { partial: true, keeps: [await put('all of it')] } })))).toBe('all of it')
    expect(await bytesAt(historyWith(file({ text: '@@ -1 +1 @@', meta: { is_patch: true, keeps: [await put('patched')] } })))).toBe(
      'patched',
    )
    expect(await bytesAt(historyWith(file({ mime: 'image/png', blob: await put('png') })))).toBe('png')
    const note = internalNoteBlock(blockOrigin('k1'), path, 'a short form')
    expect(await bytesAt(historyWith({ ...note, meta: { ...note.meta, partial: true, keeps: [await put('the note')] } }))).toBe('the note')
  })

  it('returns nothing when the newest block is a patch without stored result: older content is not current', async () => {
    expect(await bytesAt(historyWith(file({ text: 'old' }), file({ text: '@@ -1 +1 @@', meta: { is_patch: true } })))).toBeUndefined()
  })

  it('does not return text that stands for other content: extracted pages, a digest, a removed blob', async () => {
    expect(await bytesAt(historyWith(file({ text: 'page 1: …', mime: 'application/pdf' })))).toBeUndefined()
    expect(await bytesAt(historyWith({ ...file({ text: '{"artifact_path":"x"}', mime: 'application/json' }) }))).toBeUndefined()
    const gone = { sha256: '0'.repeat(64), size: 3 }
    expect(await bytesAt(historyWith(file({ text: 'old' }), file({ blob: gone, mime: 'image/png' })))).toBe('old')
  })

  it('lists the files of a turn by block paths, digests and physical paths', async () => {
    const history = historyWith(
      header(),
      file({ text: 'x' }),
      artifactDigestBlock(blockOrigin('k2'), { artifact_path: 'fi:t1.outputs/r.pdf' }),
      file({ text: 'x', meta: { physical_path: 't1/attachments/c.csv' } }, 'fi:t1.files/b.md'),
      file({ text: 'x', meta: { physical_path: '/etc/passwd' } }, 'fi:t0.files/read-again.md'),
    )
    expect(await history.paths('t1')).toEqual([
      'fi:t1.files/app/a.md',
      'fi:t1.files/b.md',
      'fi:t1.outputs/r.pdf',
      'fi:t1.user.attachments/c.csv',
    ])
    expect(await history.paths('t2')).toEqual([])
  })

  it('returns the manifest of the last publish of a turn', async () => {
    const published = (text: string): Draft => ({ ...header(), type: 'react.workspace.publish', path: publishPath('t1'), text })
    expect(await historyWith(published('{"a":1}'), published('{"a":2}')).manifest('t1')).toEqual({ a: 2 })
    expect(await historyWith(published('not JSON')).manifest('t1')).toBeUndefined()
    expect(await historyWith().manifest('t1')).toBeUndefined()
  })
})
