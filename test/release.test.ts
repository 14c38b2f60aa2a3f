import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

interface Step {
  readonly uses?: string
  readonly with?: Readonly<Record<string, unknown>>
  readonly run?: string
  readonly env?: Readonly<Record<string, string>>
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>
}

const readWorkflow = (name: string) => parse(readFileSync(`.github/workflows/${name}.yml`, 'utf8')) as Workflow
const stepsOf = (workflow: Workflow) => Object.values(workflow.jobs).flatMap(({ steps }) => steps)

/** The position of the only step that matches. */
function position(steps: readonly Step[], matches: (step: Step) => boolean): number {
  expect(steps.filter(matches)).toHaveLength(1)
  return steps.findIndex(matches)
}
const runs = (pattern: RegExp) => (step: Step) => pattern.test(step.run ?? '')

describe.each(['test', 'release'])('the workflow %s', (name) => {
  const steps = stepsOf(readWorkflow(name))
  const test = position(steps, runs(/^npm test$/))

  it('runs the test command of the project, after npm ci', () => {
    expect(position(steps, runs(/^npm ci$/))).toBeLessThan(test)
  })

  it('installs the programs of scripts/system-programs.ts with that script, as root and with Node 24, and keeps no list of its own', () => {
    const node = position(steps, ({ uses, with: options }) => /^actions\/setup-node@/.test(uses ?? '') && options?.['node-version'] === 24)
    const install = position(steps, runs(/^sudo env CI=true "\$\(command -v node\)" scripts\/system-programs\.ts$/))
    expect(node).toBeLessThan(install)
    expect(install).toBeLessThan(test)
    expect(steps.filter(runs(/apt(?:-get)? /))).toEqual([])
  })

  it('lets programs make user namespaces, with the setting that Daybook names when the sandbox can not start', () => {
    const setting = 'kernel.apparmor_restrict_unprivileged_userns'
    expect(position(steps, runs(new RegExp(`^sudo sysctl -w ${setting}=0$`)))).toBeLessThan(test)
    expect(readFileSync('src/adapters/sandbox/find.ts', 'utf8')).toContain(setting)
  })
})

it('the workflow test builds the documentation', () => {
  position(stepsOf(readWorkflow('test')), runs(/npm run build --prefix site$/))
})

describe('the workflow release', () => {
  const workflow = readWorkflow('release')
  const steps = stepsOf(workflow)
  const publish = position(steps, runs(/^npm publish /m))
  const folders: string[] = []
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  /**
   * Runs the steps from `npm test` on as GitHub would, with a program `npm` that only records its arguments. The first steps are left out,
   * because they change the machine.
   */
  function release(version: string): readonly string[] {
    const folder = mkdtempSync(join(tmpdir(), 'daybook-release-'))
    folders.push(folder)
    const calls = join(folder, 'calls')
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }))
    writeFileSync(
      join(folder, 'npm'),
      `#!/bin/sh\necho "$*" >> "${calls}"\ncase "$*" in "config get registry") echo https://registry.example/ ;; esac\n`,
    )
    chmodSync(join(folder, 'npm'), 0o755)
    const env = { PATH: [folder, dirname(process.execPath), process.env.PATH].join(delimiter), HOME: folder }
    for (const { run = '' } of steps.slice(position(steps, runs(/^npm test$/)))) {
      writeFileSync(join(folder, 'step.sh'), run.replaceAll(/\$\{\{ github\.repository \}\}/g, 'ann/notes'))
      execFileSync('bash', ['--norc', '-e', 'step.sh'], { cwd: folder, env })
    }
    return readFileSync(calls, 'utf8').trimEnd().split('\n')
  }

  it('may sign the provenance, and gives the token only to the step that publishes', () => {
    expect(workflow.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
    expect(steps.flatMap((step, n) => (JSON.stringify(step).includes('secrets.') ? [n] : []))).toEqual([publish])
  })

  it('tests, sets the repository and publishes with provenance', () => {
    expect(release('1.0.0')).toEqual([
      'test',
      'pack --dry-run --loglevel notice',
      'pkg set repository.type=git repository.url=git+https://github.com/ann/notes.git',
      'config get registry',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: npm replaces it when it reads its settings
      'config set //registry.example/:_authToken ${NODE_AUTH_TOKEN}',
      'publish --provenance --access public --tag latest',
    ])
  })

  it('publishes a prerelease with the tag next', () => {
    expect(release('1.0.0-rc.1').at(-1)).toBe('publish --provenance --access public --tag next')
  })

  it('refuses a tag that is not the version of the package, and a version that the changelog does not have', () => {
    const { run = '' } = steps[position(steps, runs(/GITHUB_REF_NAME/))] as Step // `position` has found it
    const folder = mkdtempSync(join(tmpdir(), 'daybook-release-'))
    folders.push(folder)
    writeFileSync(join(folder, 'package.json'), '{ "version": "1.0.0" }')
    const check = (tag: string, changelog: string) => {
      writeFileSync(join(folder, 'CHANGELOG.md'), changelog)
      const env = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), GITHUB_REF_NAME: tag }
      return () => execFileSync('bash', ['--norc', '-e', '-c', run], { cwd: folder, env })
    }
    expect(check('v1.0.0', '## [1.0.0]\n')).not.toThrow()
    expect(check('v1.0.1', '## [1.0.0]\n')).toThrow()
    expect(check('v1.0.0', '## [1.0.0-rc.1]\n')).toThrow()
  })
})

/** The first 60 characters of each entry of a list, without the addresses of links, which differ between the two pages. */
const beginningsIn = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => (line.startsWith('- ') ? [line.replace(/\]\([^)]*\)/g, ']').slice(0, 60)] : []))

it('CHANGELOG.md and docs/changes.md list each change once', () => {
  const beginnings = ['CHANGELOG.md', 'docs/changes.md'].flatMap((page) => beginningsIn(readFileSync(page, 'utf8')))
  expect(beginnings.length).toBeGreaterThan(300)
  expect(beginnings.filter((each, n) => beginnings.indexOf(each) !== n)).toEqual([])
})
