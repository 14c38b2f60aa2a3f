import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { conversationKey, type Scope } from '../../src/core/scope.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { hostingOn } from '../support/hosting.ts'
import { openTestStore } from '../support/stores.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-tenants-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const secret = 'the secret recipe'
const victim: Scope = { tenant: 'acme', project: 'books', user: 'ann' }
const victims = {
  'another tenant': { ...victim, tenant: 'globex' },
  'another project': { ...victim, project: 'films' },
  'another user': { ...victim, user: 'eve' },
}

describe.each(['custom', 'git'] as const)('files and messages of one owner, %s', (kind) => {
  it.each(Object.entries({ ...victims, 'another conversation': victim }))(
    'can not be reached through any tool by %s',
    async (relation, scope) => {
      const folder = mkdtempSync(join(root, 'w-'))
      const clock = createFixedClock()
      const blobs = createMemoryBlobs()
      const store = await openTestStore({ blobs, clock })
      const { hosting, hosted } = hostingOn(blobs)
      const folders = foldersOnDisk(folder)
      const workspaces =
        kind === 'git' ? createGitWorkspaces({ ...folders, root: folder, blobs }) : createCustomWorkspaces({ ...folders, blobs })
      const shared = { store, clock, hosting, workspaces, settings: { maxRounds: 1_000, contextTokens: 100_000_000 } }
      // the messages of a user can be found from other conversations of the same user, and files can not
      const said = relation === 'another conversation' ? 'something' : secret
      const owner = createHarness({
        ...shared,
        conversationId: conversationKey(victim, 'c1'),
        replies: [
          reply.call('react.write', { path: 'files/app/a.md', channel: 'canvas', content: secret, kind: 'file' }),
          reply.answer(`${said}!`),
        ],
      })
      const { turnId } = await owner.say(`Keep ${said}.`)
      const handles = (await owner.journal())
        .flatMap(blocksOfChange)
        .flatMap(({ meta }) => (meta?.rn ? [meta.rn, meta.key, meta.hosted_uri] : []))
      expect([hosted.length, handles.length]).toEqual([1, 3])

      const name = relation === 'another conversation' ? 'c2' : 'c1'
      const declare = defineTool({
        id: 'test.declare',
        description: 'Declares files.',
        params: z.object({ files: z.array(z.unknown()) }),
        run: ({ files }) => ({ artifact_type: 'files', files }) as never,
      })
      const attempts = attemptsOn(turnId, handles as string[])
      const intruder = createHarness({
        ...shared,
        tools: [declare],
        conversationId: conversationKey(scope, name),
        replies: [...attempts, reply.answer('Nothing.')],
      })
      const { exitReason } = await intruder.say('Find it.')
      expect(exitReason).toBe('complete')
      expect(intruder.model.left).toBe(0)
      const output = JSON.stringify([await intruder.journal(), intruder.model.requests])
      expect(output).not.toContain(secret)
      expect(output).not.toContain(folder)
      for (const handle of handles) {
        if (relation !== 'another conversation') expect(await hosting.resolve(handle ?? '', scope)).toBeUndefined()
      }
      expect(hosted).toHaveLength(1)
    },
  )
})

/** Calls of every tool that takes a path, with every path that could lead to files of the owner. */
function attemptsOn(turnId: string, handles: readonly string[]): readonly Reply[] {
  const conversations = ['c1', 'acme/books/ann/c1', 'acme:books:ann:c1']
  const bodies = [`${turnId}.files/app/a.md`, `${turnId}.files/app`, `${turnId}.files`, `${turnId}.user.prompt`]
  const prefixes = ['', ...conversations.flatMap((name) => [`conv_${name}.`, `conv:conv_${name}.`, `../${name}/`])]
  const spaces = ['fi:', 'ar:', 'conv:fi:', 'conv:ar:']
  const logical = spaces.flatMap((space) => prefixes.flatMap((prefix) => bodies.map((body) => `${space}${prefix}${body}`)))
  const physical = [
    `${turnId}/files/app/a.md`,
    ...['../../../../c1/out/workdir', '../../../../../ann/c1/out/workdir', '/acme/books/ann/c1'].map(
      (up) => `${up}/${turnId}/files/app/a.md`,
    ),
  ]
  const all = [...logical, ...physical, ...handles]
  const index = [`ar:${turnId}.react.turn.index`, `ar:${turnId}.assistant.completion`, `su:${turnId}.conv.range.summary`]
  const validCall = reply.call('react.plan', { mode: 'new', steps: ['go on'] })
  return [
    reply.call('react.read', { paths: [...all, ...index] }),
    reply.call('react.pull', { paths: all.slice(0, 50) }),
    reply.call('react.pull', { paths: all.slice(50) }),
    reply.call('react.checkout', { mode: 'overlay', paths: [`fi:${turnId}.files`] }),
    ...[`fi:conv_c1.${turnId}.files`, `fi:conv_acme/books/ann/c1.${turnId}.files`].flatMap((path) => [
      reply.call('react.checkout', { mode: 'overlay', paths: [path] }),
      validCall,
    ]),
    ...all.filter((_, n) => n % 7 === 0).map((path) => reply.call('react.search_files', { root: path, pattern: '.' })),
    ...all.filter((_, n) => n % 5 === 0).map((path) => reply.call('react.patch', { path, channel: 'canvas', patch: 'x', kind: 'file' })),
    ...all.filter((_, n) => n % 5 === 0).map((path) => reply.call('react.hide', { path, replacement_text: 'x' })),
    reply.call('test.declare', { files: all.map((path) => ({ path })) }),
    reply.call('test.declare', { files: handles.map((rn) => ({ rn, key: rn, hosted_uri: rn, filename: 'a.md' })) }),
    reply.call('react.read', { paths: ['fi:turn_x.outputs/a.md', 'files/a.md'] }),
    ...[`ref:fi:${turnId}.files/app/a.md`, `ref:fi:conv_c1.${turnId}.files/app/a.md`].flatMap((content) => [
      reply.call('react.write', { path: 'files/got.md', channel: 'canvas', content, kind: 'display' }),
      validCall,
    ]),
    reply.call('react.search_files', { pattern: 'recip[e]' }),
  ]
}
