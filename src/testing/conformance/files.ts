import type { Files } from '../../ports/files.ts'
import type { TestRunner } from './test-runner.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array | undefined) => content && new TextDecoder().decode(content)
const unsafe = (reason: string) => ({ code: 'file.unsafe', details: { reason } })
const contents = (entries: Record<string, string>) => new Map(Object.entries(entries).map(([path, content]) => [path, bytes(content)]))

/** Paths that must be rejected before any file is accessed. Each pair is a description of the error, and the path. */
const unsafePaths = [
  ['empty', ''],
  ['up', '../x'],
  ['up, from below', 'files/../../x'],
  ['absolute', '/daybook-absolute/x'],
  ['a drive', 'C:\\x'],
  ['a drive, with slashes', 'C:/x'],
  ['a server', '\\\\server\\share'],
  ['NUL', 'a\0b'],
  ['a dot segment', 'a/./b'],
  ['an empty segment', 'a//b'],
  ['a trailing slash', 'a/'],
  ['percent-encoded dots', 'a/%2e%2E/b'],
  ['percent-encoded separator', 'a%2Fb'],
  ['git', 'a/.git/config'],
  ['git in capitals', '.GIT/config'],
  ['git with a trailing dot', '.git./config'],
  ['a right-to-left mark', 'a\u202etxt.exe'],
  ['a newline', 'a\nb'],
  ['not in form NFC', 'e\u0301'],
  ['a name of 256 bytes', 'n'.repeat(256)],
  ['a path of 1,025 bytes', `${'d/'.repeat(512)}f`],
  ['the private folder', '.daybook/x'],
  ['the private folder in capitals', '.DAYBOOK/x'],
] as const

/**
 * The tests that every `Files` must pass. `create` makes an empty `Files` for each test. Links and pipes are tested in
 * test/files/file-safety.test.ts.
 */
export function describeFiles(runner: TestRunner, name: string, create: () => Promise<Files>): void {
  describeReading(runner, name, create)
  describeRefusing(runner, name, create)
  describeWriting(runner, name, create)
  describeListing(runner, name, create)
  describeReplacing(runner, name, create)
}

function describeReading({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Files>): void {
  describe(`${name} reads files`, () => {
    it('reads back the written bytes: an empty file, all 256 byte values, a large file', async () => {
      const files = await create()
      for (const content of [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(300_000).fill(7)]) {
        for (const durable of [false, true]) {
          await files.write('turn_1/files/a.bin', content, { durable })
          expect(Buffer.compare((await files.read('turn_1/files/a.bin')) as Uint8Array, content)).toBe(0)
        }
        expect(await files.stat('turn_1/files/a.bin')).toMatchObject({ path: 'turn_1/files/a.bin', size: content.length, readOnly: false })
      }
    })

    it('returns undefined for a path without a file, even when its folder does not exist', async () => {
      const files = await create()
      await files.write('a/b', bytes('x'))
      for (const path of ['nothing', 'no/folder/here', 'a/c', 'A/b', 'a/B', 'n'.repeat(255)]) {
        expect(await files.read(path)).toBe(undefined)
        expect(await files.stat(path)).toBe(undefined)
        expect(await files.remove(path)).toBe(false)
      }
    })

    it('rejects a file that is larger than maxBytes', async () => {
      const files = await create()
      await files.write('a', bytes('12345'))
      expect(text(await files.read('a', { maxBytes: 5 }))).toBe('12345')
      await expect(files.read('a', { maxBytes: 4 })).rejects.toMatchObject(unsafe('too_large'))
    })

    it('streams the bytes of a file, rejects what `read` rejects, and can stop at any piece, if it has `stream`', async () => {
      const files = await create()
      if (!files.stream) return
      const streamed = async (path: string, maxBytes?: number) => {
        const pieces: Uint8Array[] = []
        for await (const piece of files.stream?.(path, maxBytes === undefined ? {} : { maxBytes }) ?? []) pieces.push(piece)
        return Buffer.concat(pieces)
      }
      const content = Uint8Array.from({ length: 300_000 }, (_, index) => index % 253)
      for (const written of [content, content.subarray(0, 1), new Uint8Array()]) {
        await files.write('folder/a', written)
        expect(Buffer.compare(await streamed('folder/a'), written)).toBe(0)
        expect(Buffer.compare(await streamed('folder/a', written.length), written)).toBe(0)
      }
      await files.write('folder/a', content)
      for await (const piece of files.stream('folder/a')) {
        piece.fill(0)
        break
      }
      expect(Buffer.compare(await streamed('folder/a'), content)).toBe(0)
      await expect(streamed('folder/a', 299_999)).rejects.toMatchObject(unsafe('too_large'))
      await expect(streamed('folder/b')).rejects.toMatchObject(unsafe('not_a_file'))
      await expect(streamed('folder')).rejects.toMatchObject(unsafe('not_a_file'))
      await expect(streamed('../x')).rejects.toMatchObject(unsafe('unsafe_path'))
    })

    it('keeps the stored file when the caller modifies the array that it wrote or the array that it read', async () => {
      const files = await create()
      const mine = bytes('abc')
      await files.write('a', mine)
      mine.fill(0)
      ;(await files.read('a'))?.fill(0)
      expect(text(await files.read('a'))).toBe('abc')
    })
  })
}

function describeRefusing({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Files>): void {
  describe(`${name} rejects unsafe paths and folders in place of files`, () => {
    it('tools 18.4: rejects an unsafe path in every operation, and creates nothing', async () => {
      const files = await create()
      for (const [, path] of unsafePaths) {
        await expect(files.read(path)).rejects.toMatchObject(unsafe('unsafe_path'))
        await expect(files.stat(path)).rejects.toMatchObject(unsafe('unsafe_path'))
        await expect(files.write(path, bytes('x'))).rejects.toMatchObject(unsafe('unsafe_path'))
        await expect(files.remove(path)).rejects.toMatchObject(unsafe('unsafe_path'))
        await expect(files.replaceFolder(path, contents({ a: 'x' }))).rejects.toMatchObject(unsafe('unsafe_path'))
        await expect(files.replaceFolder('safe', new Map([[path, bytes('x')]]))).rejects.toMatchObject(unsafe('unsafe_path'))
        if (path !== '') await expect(files.list(path)).rejects.toMatchObject(unsafe('unsafe_path'))
      }
      expect(await files.list('')).toEqual({ files: [], truncated: false, skipped: [] })
    })

    it('rejects a folder where a file is expected, and a file where a folder is expected', async () => {
      const files = await create()
      await files.write('folder/file', bytes('x'))
      await expect(files.read('folder')).rejects.toMatchObject(unsafe('not_a_file'))
      await expect(files.stat('folder')).rejects.toMatchObject(unsafe('not_a_file'))
      await expect(files.write('folder', bytes('y'))).rejects.toMatchObject(unsafe('not_a_file'))
      await expect(files.remove('folder')).rejects.toMatchObject(unsafe('not_a_file'))
      await expect(files.read('folder/file/deep')).rejects.toMatchObject(unsafe('not_a_folder'))
      await expect(files.write('folder/file/deep', bytes('y'))).rejects.toMatchObject(unsafe('not_a_folder'))
      await expect(files.remove('folder/file/deep')).rejects.toMatchObject(unsafe('not_a_folder'))
      await expect(files.list('folder/file')).rejects.toMatchObject(unsafe('not_a_folder'))
      await expect(files.replaceFolder('folder/file', contents({ a: 'y' }))).rejects.toMatchObject(unsafe('not_a_folder'))
      expect(text(await files.read('folder/file'))).toBe('x')
    })
  })
}

function describeWriting({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Files>): void {
  describe(`${name} writes files`, () => {
    it('replaces the whole content of an existing file, and removes the file', async () => {
      const files = await create()
      await files.write('a/b/c', bytes('a longer first version'))
      await files.write('a/b/c', bytes('second'))
      expect(text(await files.read('a/b/c'))).toBe('second')
      expect(await files.remove('a/b/c')).toBe(true)
      expect(await files.remove('a/b/c')).toBe(false)
      expect(await files.read('a/b/c')).toBe(undefined)
    })

    it('leaves one complete version after concurrent writes of one file', async () => {
      const files = await create()
      const versions = Array.from({ length: 8 }, (_, i) => String(i).repeat(10_000))
      await Promise.all(versions.map((version) => files.write('new/folder/a', bytes(version))))
      expect(versions.includes(text(await files.read('new/folder/a')) as string)).toBe(true)
      expect((await files.list('')).files.map(({ path }) => path)).toEqual(['new/folder/a'])
    })

    it('rejects writing and removing a read-only file', async () => {
      const files = await create()
      await files.write('pulled', bytes('old'), { readOnly: true })
      expect((await files.stat('pulled'))?.readOnly).toBe(true)
      await expect(files.write('pulled', bytes('new'))).rejects.toMatchObject(unsafe('read_only'))
      await expect(files.write('pulled', bytes('new'), { readOnly: true })).rejects.toMatchObject(unsafe('read_only'))
      await expect(files.remove('pulled')).rejects.toMatchObject(unsafe('read_only'))
      expect(text(await files.read('pulled'))).toBe('old')
    })

    it('accepts names of 255 bytes and of any script, and distinguishes names that differ only in case', async () => {
      const files = await create()
      const names = ['A.txt', 'a.txt', 'é.txt', '日本.txt', 'n'.repeat(255), 'with space', '-rf', '$(id)', "it's", '%41']
      for (const path of names) await files.write(path, bytes(path))
      for (const path of names) expect(text(await files.read(path))).toBe(path)
    })
  })
}

function describeListing({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Files>): void {
  describe(`${name} lists files`, () => {
    it('lists the files below a folder in the order of their paths, by default without dot-entries', async () => {
      const files = await create()
      for (const path of ['b', 'a/z', 'a-b', 'a.b', 'a/b/c', '.hidden', 'a/.env', '.folder/x', 'ab/x']) await files.write(path, bytes(path))
      const paths = async (folder: string) => (await files.list(folder)).files.map(({ path }) => path)
      expect(await paths('')).toEqual(['a-b', 'a.b', 'a/b/c', 'a/z', 'ab/x', 'b'])
      expect(await paths('a')).toEqual(['a/b/c', 'a/z'])
      expect(await paths('.folder')).toEqual(['.folder/x'])
      expect(await paths('nowhere/at/all')).toEqual([])
      const all = await files.list('', { dotEntries: true })
      expect(all.files.map(({ path }) => path)).toEqual(['.folder/x', '.hidden', 'a-b', 'a.b', 'a/.env', 'a/b/c', 'a/z', 'ab/x', 'b'])
      expect((await files.list('ab')).files).toEqual([{ path: 'ab/x', size: 4, readOnly: false }])
    })

    it('lists dot-entries when the option is set', async () => {
      const files = await create()
      for (const path of ['b', 'a/.env', '.folder/x']) await files.write(path, bytes(path))
      const { files: listed } = await files.list('', { dotEntries: true })
      expect(listed.map(({ path }) => path)).toEqual(['.folder/x', 'a/.env', 'b'])
    })

    it('returns the first files up to the limit, and reports that the list is truncated', async () => {
      const files = await create()
      for (const path of ['b/2', 'a/1', 'c', 'b/1']) await files.write(path, bytes('x'))
      const upTo = async (limit: number) => {
        const listing = await files.list('', { limit })
        return { paths: listing.files.map(({ path }) => path), truncated: listing.truncated }
      }
      expect(await upTo(2)).toEqual({ paths: ['a/1', 'b/1'], truncated: true })
      expect(await upTo(4)).toEqual({ paths: ['a/1', 'b/1', 'b/2', 'c'], truncated: false })
      expect(await upTo(0)).toEqual({ paths: [], truncated: true })
    })

    it('skips no file that was written through it, and tells with the limit 0 whether there are files', async () => {
      const files = await create()
      expect(await files.list('a', { limit: 0 })).toEqual({ files: [], truncated: false, skipped: [] })
      for (const path of ['a/b/c', 'a/.env', 'a/with space']) await files.write(path, bytes('x'))
      expect((await files.list('', { dotEntries: true })).skipped).toEqual([])
      expect(await files.list('a', { limit: 0 })).toEqual({ files: [], truncated: true, skipped: [] })
    })
  })
}

function describeReplacing({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Files>): void {
  describe(`${name} replaces folders`, () => {
    const everything = async (files: Files) => {
      const paths = (await files.list('')).files.map(({ path }) => path)
      return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, text(await files.read(path))])))
    }

    it('leaves exactly the given files in the folder, and does not touch files beside it', async () => {
      const files = await create()
      await files.write('turn/files/app/old', bytes('old'))
      await files.write('turn/files/app/both', bytes('old'))
      await files.write('turn/files/apple', bytes('neighbour'))
      await files.replaceFolder('turn/files/app', contents({ both: 'new', 'deep/er/one': 'new' }))
      expect(await everything(files)).toEqual({
        'turn/files/app/both': 'new',
        'turn/files/app/deep/er/one': 'new',
        'turn/files/apple': 'neighbour',
      })
    })

    it('creates a missing folder, and empties a folder when no files are given', async () => {
      const files = await create()
      await files.replaceFolder('made/when/needed', contents({ a: '1' }))
      expect(await everything(files)).toEqual({ 'made/when/needed/a': '1' })
      await files.replaceFolder('made/when/needed', new Map())
      expect(await everything(files)).toEqual({})
      await files.write('made/when/needed/b', bytes('2'))
      expect(await everything(files)).toEqual({ 'made/when/needed/b': '2' })
    })

    it('writes read-only files when the option is set, and replaces read-only files', async () => {
      const files = await create()
      await files.replaceFolder('a', contents({ x: '1' }), { readOnly: true })
      await expect(files.write('a/x', bytes('2'))).rejects.toMatchObject(unsafe('read_only'))
      await files.replaceFolder('a', contents({ x: '3' }))
      await files.write('a/x', bytes('4'))
      expect(await everything(files)).toEqual({ 'a/x': '4' })
    })

    it('changes nothing when one of the given paths is invalid', async () => {
      const files = await create()
      await files.write('a/x', bytes('old'))
      await expect(files.replaceFolder('a', contents({ x: 'new', '../y': 'z' }))).rejects.toMatchObject(unsafe('unsafe_path'))
      await expect(files.replaceFolder('a', contents({ y: 'new', 'y/z': 'new' }))).rejects.toMatchObject(unsafe('not_a_folder'))
      await expect(files.replaceFolder('a', contents({ [`${'d/'.repeat(511)}f`]: 'deep' }))).rejects.toMatchObject(unsafe('unsafe_path'))
      expect(await everything(files)).toEqual({ 'a/x': 'old' })
    })

    it('leaves one complete version after concurrent replacements of one folder', async () => {
      const files = await create()
      const version = (n: number) => contents({ a: `${n}`, b: `${n}`, [`only-${n}`]: `${n}` })
      await Promise.all(Array.from({ length: 6 }, (_, n) => files.replaceFolder('f', version(n))))
      const found = await everything(files)
      const winner = found['f/a']
      expect(found).toEqual({ 'f/a': winner, 'f/b': winner, [`f/only-${winner}`]: winner })
    })
  })
}
