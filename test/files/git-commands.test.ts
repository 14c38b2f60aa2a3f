import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { createGitTurns, filesIn, first, runGit, type Tree } from '../support/git-turns.ts'

const turns = createGitTurns()
afterAll(turns.remove)

/** An ordinary repository with the same files, all of them committed. */
async function ordinaryClone(of: string): Promise<string> {
  const folder = turns.newFolder()
  await runGit(folder, 'init', '--quiet', '--template=', '--initial-branch=workspace')
  appendFileSync(join(folder, '.git/config'), '[user]\nname = x\nemail = x@y\n')
  if (existsSync(join(of, 'files'))) cpSync(join(of, 'files'), join(folder, 'files'), { recursive: true })
  await runGit(folder, 'add', '--all')
  await runGit(folder, 'commit', '--quiet', '--allow-empty', '-m', 'start')
  return folder
}

const rel = fc.constantFrom('app/a', 'app/b', 'app/sub/c', 'app/new', 'app/x.tmp', 'notes/n', 'notes/new', 'top')
const commands = [
  ...['add .', 'add -A', 'commit -a -m x', 'commit -m x', 'branch one', 'checkout -b two', 'checkout one', 'checkout two'],
  ...['checkout workspace', 'checkout -', 'checkout --detach', 'stash', 'stash -u', 'stash pop', 'stash pop', 'reset --hard', 'reset'],
]
type Step =
  | { readonly do: 'write'; readonly rel: string; readonly content: string }
  | { readonly do: 'remove'; readonly rel: string }
  | { readonly do: 'ignore' }
  | { readonly do: 'git'; readonly command: string }
const write: fc.Arbitrary<Step> = fc.record({ do: fc.constant('write'), rel, content: fc.constantFrom('1', '2', '') })
const git = (command: fc.Arbitrary<string>): fc.Arbitrary<Step> => fc.record({ do: fc.constant('git'), command })
const steps = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(write) },
      { weight: 1, arbitrary: fc.constant<Step[]>([{ do: 'ignore' }]) },
      { weight: 2, arbitrary: fc.tuple<[Step]>(fc.record({ do: fc.constant('remove'), rel })) },
      { weight: 10, arbitrary: fc.tuple(git(fc.constantFrom(...commands))) },
      { weight: 2, arbitrary: fc.tuple(write, git(fc.constantFrom('stash', 'stash -u', 'add .', 'commit -a -m x'))) },
      {
        weight: 2,
        arbitrary: fc.tuple(write, git(fc.constant('stash -u')), git(fc.constantFrom(...commands)), git(fc.constant('stash pop'))),
      },
    ),
    { minLength: 3, maxLength: 7 },
  )
  .map((parts) => parts.flat())
const checkouts: readonly (readonly string[])[] = [['turn_1'], ['turn_1'], ['turn_1/app'], ['turn_1/app/sub', 'turn_1/app/a'], []]

/** Does a step of a program. Returns whether it succeeded. */
async function runStep(folder: string, each: Step): Promise<boolean> {
  if (each.do === 'git') return (await runGit(folder, ...each.command.split(' '))) !== undefined
  const path = join(folder, 'files', each.do === 'ignore' ? 'app/.gitignore' : each.rel)
  if (each.do === 'remove') rmSync(path, { force: true })
  else {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, each.do === 'ignore' ? '*.tmp\n' : each.content)
  }
  return true
}

/** The version that the turn must leave: its folder, laid over what its folder never held. */
function expectedVersion(folder: Tree, held: ReadonlySet<string>, scopes: ReadonlySet<string>): Tree {
  const isIgnored = (path: string) => path === 'app/x.tmp' && folder['app/.gitignore'] !== undefined && !held.has(path)
  const kept = Object.entries(first).filter(([path]) => !held.has(path) && !scopes.has(path.split('/')[0] as string))
  return { ...Object.fromEntries(kept), ...Object.fromEntries(Object.entries(folder).filter(([path]) => !isIgnored(path))) }
}

it('git commands of a program behave as in an ordinary clone, and publish keeps exactly what is in the folder', async () => {
  const counts = { changes: 0, stashes: 0 }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...checkouts), fc.uniqueArray(rel, { maxLength: 2 }), steps, async (sources, written, program) => {
      const { turn, at, version } = await turns.secondTurn(sources)
      const laid = Object.keys(filesIn(at))
      const clone = await ordinaryClone(at)
      for (const path of written) {
        await turn.writeRecorded(path, 'by a tool')
        await runStep(clone, { do: 'write', rel: path, content: 'by a tool' })
      }
      for (const each of program) {
        const [succeeded, asExpected] = await Promise.all([runStep(at, each), runStep(clone, each)])
        expect([each, succeeded]).toEqual([each, asExpected])
        expect(filesIn(at)).toEqual(filesIn(clone))
        if (each.do === 'git' && succeeded) counts[each.command === 'stash pop' ? 'stashes' : 'changes'] += 1
      }
      const folder = filesIn(at)
      const { status } = await turn.publish()
      const whole = new Set(
        sources.filter((source) => source.split('/').length < 3).flatMap(() => laid.map((path) => path.split('/')[0] as string)),
      )
      if (status === 'published') expect(await version()).toEqual(expectedVersion(folder, new Set([...laid, ...written]), whole))
      else expect([folder, laid, written]).toEqual([{}, [], []])
    }),
    { numRuns: 20 },
  )
  expect(counts.changes).toBeGreaterThan(15)
  expect(counts.stashes).toBeGreaterThan(1)
}, 300_000)
