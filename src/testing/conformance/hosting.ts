import type { Scope } from '../../core/scope.ts'
import type { Hosting, HostingHandles, NewFile } from '../../ports/hosting.ts'
import { foreignAttempts } from './hosting-attempts.ts'
import type { TestRunner } from './test-runner.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array) => new TextDecoder().decode(content)

const ann: Scope = { tenant: 'acme', project: 'books', user: 'ann' }

const report: NewFile = {
  owner: ann,
  conversationId: 'c1',
  turnId: 'turn_1',
  stage: 'file',
  physicalPath: 'turn_1/files/q3 report.pdf',
  mime: 'application/pdf',
  description: 'the third quarter',
  ts: '2026-01-01T00:00:00.000Z',
  content: bytes('first'),
}

const handlesOf = ({ rn, key, hosted_uri }: HostingHandles): readonly string[] => [rn, key, hosted_uri]

/** The tests that every `Hosting` must pass. `create` makes an empty `Hosting` for each test. */
export function describeHosting(runner: TestRunner, name: string, create: () => Promise<Hosting>): void {
  describeHandles(runner, name, create)
  describeVersions(runner, name, create)
  describeOwners(runner, name, create)
}

function describeHandles({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Hosting>): void {
  describe(`${name} resolves handles to files`, () => {
    it('resolves each of the three handles of a hosted file to its facts and bytes', async () => {
      const hosting = await create()
      const hosted = await hosting.host(report)
      expect(hosted.rn).toBe('ef:acme:books:chatbot:file:ann:c1:turn_1:artifact:turn_1%2Ffiles%2Fq3%20report.pdf')
      for (const handle of handlesOf(hosted)) {
        const file = await hosting.resolve(handle, ann)
        const { content: _, stage: __, ...told } = report
        expect(file).toEqual({ ...told, ...hosted, filename: 'q3 report.pdf' })
        expect(file && text(await hosting.read(file))).toBe('first')
      }
    })

    it('returns a valid URI that does not reveal where the store is on this machine', async () => {
      const hosting = await create()
      const { hosted_uri, key } = await hosting.host({ ...report, physicalPath: 'turn_1/files/日本 #1?.md' })
      expect(decodeURIComponent(hosted_uri).endsWith(key)).toBe(true)
      expect(/^[a-z0-9]+:\/\/[a-z0-9./~_%-]*$/i.test(hosted_uri)).toBe(true)
      expect(/tmp|home/.test(hosted_uri)).toBe(false)
    })

    it('accepts every id of a conversation that the HTTP API accepts, and other long names', async () => {
      const hosting = await create()
      const owner = { ...ann, user: 'Zoë'.repeat(30) }
      const names = { owner, conversationId: 'C'.repeat(128), turnId: 'T'.repeat(20) }
      const hosted = await hosting.host({ ...report, ...names })
      for (const handle of handlesOf(hosted)) {
        const file = await hosting.resolve(handle, owner)
        expect(file && text(await hosting.read(file))).toBe('first')
      }
      await hosting.remove(owner, names.conversationId)
      expect(await hosting.resolve(hosted.rn, owner)).toBe(undefined)
    })

    it('accepts names with any characters, and distinguishes files with similar names', async () => {
      const hosting = await create()
      const paths = [
        'a',
        'a/b',
        'a/b/c',
        'a b',
        'a+b',
        'a%20b',
        'A',
        'é',
        '日本',
        "it's (1)!*",
        '=',
        '=/=',
        '==',
        '.env',
        'a&b;c',
        '~',
        'n'.repeat(200),
      ]
      const hosted = await Promise.all(
        paths.map((path) => hosting.host({ ...report, physicalPath: `turn_1/files/${path}`, content: bytes(path) })),
      )
      for (const [index, one] of hosted.entries()) {
        for (const handle of handlesOf(one)) {
          const file = await hosting.resolve(handle, ann)
          expect(file && text(await hosting.read(file))).toBe(paths[index])
        }
      }
    })

    it('rejects an unsafe path, and an empty or malformed id or owner', async () => {
      const hosting = await create()
      for (const physicalPath of [
        '',
        '../x',
        '/daybook-absolute/x',
        'a/../../x',
        'a\0b',
        'C:\\x',
        'a//b',
        '%2e%2e/x',
        '.git/config',
        'x'.repeat(1025),
      ]) {
        await expect(hosting.host({ ...report, physicalPath })).rejects.toMatchObject({
          code: 'file.unsafe',
          details: { reason: 'unsafe_path' },
        })
      }
      for (const broken of [
        { turnId: '' },
        { conversationId: '' },
        { owner: { ...ann, user: '' } },
        { owner: { ...ann, tenant: '\ud800' } },
      ]) {
        await expect(hosting.host({ ...report, ...broken })).rejects.toMatchObject({ code: 'hosting.failed' })
      }
    })
  })
}

function describeVersions({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Hosting>): void {
  describe(`${name} keeps the bytes of hosted files`, () => {
    it('resolves to the new bytes after the same file is hosted again, while a file resolved before keeps the old bytes', async () => {
      const hosting = await create()
      const first = await hosting.host(report)
      const before = await hosting.resolve(first.rn, ann)
      const second = await hosting.host({ ...report, content: bytes('second'), mime: 'text/plain' })
      expect(handlesOf(second)).toEqual(handlesOf(first))
      const after = await hosting.resolve(first.key, ann)
      expect(after?.mime).toBe('text/plain')
      expect(after && text(await hosting.read(after))).toBe('second')
      expect(before && text(await hosting.read(before))).toBe('first')
    })

    it('hosts a blob that is already stored, and rejects a blob that is not', async () => {
      const hosting = await create()
      const { blob } = await hosting.host(report)
      const again = await hosting.host({ ...report, physicalPath: 'turn_1/files/copy.pdf', content: blob })
      const file = await hosting.resolve(again.rn, ann)
      expect(file && text(await hosting.read(file))).toBe('first')
      const nowhere = { sha256: '0'.repeat(64), size: 1 }
      await expect(hosting.host({ ...report, content: nowhere })).rejects.toMatchObject({ code: 'blob.missing' })
    })

    it('removes the files of one turn or of one conversation, and no others', async () => {
      const hosting = await create()
      const of = (more: Partial<NewFile>) => hosting.host({ ...report, ...more })
      const one = await of({})
      const sent = await of({ stage: 'attachment', physicalPath: 'turn_1/attachments/.a' })
      const later = await of({ turnId: 'turn_10' })
      const kept = [
        await of({ conversationId: 'c10' }),
        await of({ conversationId: 'c1/x' }),
        await of({ owner: { ...ann, user: 'ann2' } }),
      ]
      const there = async (hosted: HostingHandles, viewer = ann) => (await hosting.resolve(hosted.rn, viewer)) !== undefined
      await hosting.remove(ann, 'c1', 'turn_1')
      expect([await there(one), await there(sent), await there(later)]).toEqual([false, false, true])
      await hosting.remove(ann, 'c1')
      await hosting.remove(ann, 'c1')
      await hosting.remove(ann, 'never-was')
      expect(await there(later)).toBe(false)
      expect([await there(kept[0] as HostingHandles), await there(kept[1] as HostingHandles)]).toEqual([true, true])
      expect(await there(kept[2] as HostingHandles, { ...ann, user: 'ann2' })).toBe(true)
    })
  })
}

function describeOwners({ describe, it, expect }: TestRunner, name: string, create: () => Promise<Hosting>): void {
  describe(`${name} resolves a file for its owner only`, () => {
    it('tools 18.106: resolves neither for another viewer nor for an altered handle', async () => {
      const hosting = await create()
      const hosted = await hosting.host(report)
      const eve: Scope = { ...ann, user: 'eve' }
      const own = await hosting.host({ ...report, owner: eve })
      const attempts = foreignAttempts(hosted, own, ann, eve)
      const opened: string[] = []
      for (const { what, handle, viewer } of attempts) if (await hosting.resolve(handle, viewer)) opened.push(what)
      expect(opened).toEqual([])
      expect(attempts.length >= 40).toBe(true)
      expect((await hosting.resolve(own.rn, eve))?.owner).toEqual(eve)
    })

    it('separates users whose names look like parts of a path, or like each other', async () => {
      const hosting = await create()
      const users = [
        'a',
        'A',
        'a/b',
        'a%2Fb',
        'a%252Fb',
        'a~2fb',
        'a:b',
        'a%3Ab',
        '..',
        '.',
        'a.',
        'a ',
        '\u0430',
        'a\u200b',
        'é',
        'e\u0301',
        '%',
        '*',
      ]
      const owners = users.map((user): Scope => ({ ...ann, user }))
      const files = await Promise.all(owners.map((owner) => hosting.host({ ...report, owner, content: bytes(owner.user) })))
      for (const [mine, owner] of owners.entries()) {
        for (const [index, hosted] of files.entries()) {
          for (const handle of handlesOf(hosted)) {
            const file = await hosting.resolve(handle, owner)
            expect(file && text(await hosting.read(file))).toBe(index === mine ? owner.user : undefined)
          }
        }
      }
    })
  })
}
