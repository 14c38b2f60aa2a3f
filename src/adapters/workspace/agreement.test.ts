import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { foldersOnDisk } from '../../../test/support/workspace-folders.ts'
import { localScope } from '../../core/scope.ts'
import type { Workspace, Workspaces } from '../../ports/workspace.ts'
import {
  beginTurn,
  contentsBelow,
  createTestJournal,
  type TestJournal,
  type TestTurn,
} from '../../testing/conformance/workspace/fixture.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createMemoryFiles } from '../files/memory.ts'
import { createMemoryWorkspaces } from './custom/custom.ts'
import { createGitWorkspaces } from './git/git.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-agreement-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Tree = Readonly<Record<string, string>>

/** A model of a workspace with plain objects in place of files and versions. The test compares real workspaces with it. */
function createModel() {
  const versions = new Map<string, Tree>()
  let lineage: Tree = {}
  const scope = (rel: string) => rel.split('/')[0] as string
  const within = (tree: Tree, rel: string) =>
    Object.fromEntries(Object.entries(tree).filter(([path]) => rel === '' || path === rel || path.startsWith(`${rel}/`)))

  function over(below: Tree, above: Tree): Tree {
    const clash = (path: string) =>
      Object.keys(above).some((other) => other === path || other.startsWith(`${path}/`) || path.startsWith(`${other}/`))
    return { ...Object.fromEntries(Object.entries(below).filter(([path]) => !clash(path))), ...above }
  }

  function begin(turnId: string) {
    let files: Tree = {}
    let put: Record<string, string> = {}
    const held = new Set<string>()
    let whole = new Set<string>()
    let checkedOut = false
    return {
      files: () => files,
      write(rel: string, content: string) {
        files = over(files, { [rel]: content })
      },
      remove(rel: string) {
        files = Object.fromEntries(Object.entries(files).filter(([path]) => path !== rel))
      },
      checkout(
        mode: 'replace' | 'overlay',
        sources: readonly (readonly [string, string])[],
        force: boolean,
      ): 'ok' | 'missing' | 'nonempty' {
        const own = Object.entries(files).some(([rel, content]) => put[rel] !== content)
        if (mode === 'replace' && own && !force) return 'nonempty'
        const trees = sources.map(([turn, rel]) => within(versions.get(turn) ?? {}, rel))
        if (trees.some((tree) => Object.keys(tree).length === 0)) return 'missing'
        const laid = trees.reduce(over, {})
        files = mode === 'replace' ? laid : over(files, laid)
        put = mode === 'replace' ? { ...laid } : { ...put, ...laid }
        for (const rel of Object.keys(laid)) held.add(rel)
        if (mode === 'replace') whole = new Set()
        for (const [at, [, rel]] of sources.entries()) {
          if (!rel.includes('/')) for (const path of Object.keys(trees[at] ?? {})) whole.add(scope(path))
        }
        checkedOut = true
        return 'ok'
      },
      publish() {
        const kept = Object.entries(lineage).filter(([rel]) => !whole.has(scope(rel)) && !held.has(rel))
        const materialized = Object.keys(files).length > 0 || checkedOut
        const next = over(Object.fromEntries(kept), files)
        if (!materialized || (versions.size === 0 && Object.keys(next).length === 0)) return
        lineage = next
        versions.set(turnId, lineage)
      },
    }
  }
  return { begin, versions }
}

const rel = fc.constantFrom('app/a', 'app/b', 'app/b/c', 'lib/x', 'lib/deep/y', 'top.md', '.env', 'lib')
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), rel, content: fc.constantFrom('1', '2', '', '\0\r\n') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), rel }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('checkout' as const),
      mode: fc.constantFrom('replace' as const, 'overlay' as const),
      force: fc.boolean(),
      sources: fc.array(fc.tuple(fc.nat(9), fc.constantFrom('', '', '', 'app', 'app', 'lib', 'lib/deep', 'top.md', 'app/a')), {
        minLength: 1,
        maxLength: 2,
      }),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
const histories = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 3, maxLength: 8 })

/** Steps that leave an empty folder at a path where an earlier turn had a file. A checkout must still restore that file. */
const emptiedFolder: Step[][] = [
  [{ do: 'write', rel: 'app/b', content: '1' }],
  [
    { do: 'write', rel: 'lib/x', content: '1' },
    { do: 'write', rel: 'app/b/c', content: '1' },
    { do: 'remove', rel: 'app/b/c' },
  ],
  [],
]

interface TestedWorkspace {
  readonly workspace: Workspace
  readonly journal: TestJournal
}

async function openWorkspaces(): Promise<readonly TestedWorkspace[]> {
  const git = mkdtempSync(join(root, 'g-'))
  const kinds: readonly Workspaces[] = [
    createMemoryWorkspaces({ blobs: createMemoryBlobs(), createFiles: createMemoryFiles }),
    createGitWorkspaces({ ...foldersOnDisk(git), root: git, blobs: createMemoryBlobs() }),
  ]
  return Promise.all(kinds.map(async (kind) => ({ workspace: await kind.open(localScope, 'c1'), journal: createTestJournal() })))
}

/**
 * Whether the model covers a step. It does not cover a step that writes a file to the path of a folder, or makes a folder at the path of a
 * file, because a disk rejects this. A folder stays when its files are removed. Therefore `ever` contains every path that the turn has had.
 */
const isPossible = (files: Tree, ever: ReadonlySet<string>, each: Step) =>
  each.do !== 'write' ||
  !(Object.keys(files).some((path) => each.rel.startsWith(`${path}/`)) || [...ever].some((path) => path.startsWith(`${each.rel}/`)))

async function runStep(turn: TestTurn, each: Step, sources: readonly (readonly [string, string])[]): Promise<string | undefined> {
  if (each.do === 'write') return void (await turn.write(each.rel, each.content))
  if (each.do === 'remove') return void (await turn.remove(each.rel).catch(() => {})) // fails for a folder
  const outcome = await turn.checkout(
    each.mode,
    sources.map(([turnId, path]) => (path === '' ? turnId : `${turnId}/${path}`)),
    each.force,
  )
  return outcome.ok ? 'ok' : outcome.code
}

it('custom and git workspaces agree with a model over histories of writes, deletes and checkouts', async () => {
  const counts = { steps: 0, checkouts: 0, versions: 0 }
  await fc.assert(
    fc.asyncProperty(histories, async (turns) => {
      const model = createModel()
      const all = await openWorkspaces()
      for (const [number, steps] of turns.entries()) {
        const turnId = `turn_${number}`
        const expected = model.begin(turnId)
        const own = await Promise.all(all.map(({ workspace, journal }) => beginTurn(workspace, turnId, journal)))
        const ever = new Set<string>()
        for (const each of steps) {
          for (const path of Object.keys(expected.files())) ever.add(path)
          if (!isPossible(expected.files(), ever, each)) continue
          if (each.do === 'checkout' && number === 0) continue // there is no earlier turn
          const before = expected.files()
          const sources = each.do === 'checkout' ? each.sources.map(([n, path]) => [`turn_${n % number}`, path] as const) : []
          if (each.do === 'write') expected.write(each.rel, each.content)
          if (each.do === 'remove') expected.remove(each.rel)
          const verdict = each.do === 'checkout' ? expected.checkout(each.mode, sources, each.force) : undefined
          counts.steps += 1
          if (verdict === 'ok') counts.checkouts += 1
          for (const turn of own) {
            expect(await runStep(turn, each, sources)).toBe(verdict)
            expect(await turn.files()).toEqual(verdict === undefined || verdict === 'ok' ? expected.files() : before)
          }
        }
        expected.publish()
        for (const turn of own) await turn.publish()
      }
      for (const { workspace, journal } of all) {
        for (const [number] of turns.entries()) {
          const turnId = `turn_${number}`
          const version = model.versions.get(turnId)
          expect((await workspace.version(turnId, journal))?.map(({ rel: path }) => path)).toEqual(version && Object.keys(version).sort())
          if (!version) continue
          counts.versions += 1
          await workspace.startTurn('turn_later')
          await workspace.hydrate(turnId, [{ area: 'files', rel: '' }], journal)
          if (Object.keys(version).length > 0) expect(await contentsBelow(workspace, `${turnId}/files`)).toMatchObject(version)
        }
      }
    }),
    { numRuns: 10, examples: [[emptiedFolder]] },
  )
  expect(counts.checkouts).toBeGreaterThan(1)
  expect(counts.versions).toBeGreaterThan(20)
}, 120_000)
