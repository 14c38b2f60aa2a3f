import { execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeMountedApps } from '../support/mounted-apps.ts'
import { developmentFilesAmong, listPacked, testsAmong } from '../support/package/packed.ts'
import { pdf } from '../support/sample-files/pdf.ts'

const run = promisify(execFile)

/** The frameworks of `examples/apps` that are not installed with Daybook. */
const frameworks = ['express@5.3.0', 'fastify@5.12.8']

/** The environment of a new installation. The Node that runs this test comes first in PATH. */
const environment = { PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, HOME: process.env.HOME }

/** What npm needs to reach the registry on machines with a proxy or certificates of their own. */
const network = Object.fromEntries(
  ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  ),
)

/** Tries a second time if an installation fails, because a download from the registry may stall. */
async function retried<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = 2; left > 0; left--) {
    try {
      return await attempt()
    } catch (error) {
      console.warn('npm install failed and is tried again:', error)
    }
  }
  return attempt()
}

/** The files and folders that package.json lists for the package. */
const { files: packageFiles } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }

describe('the package, installed from its tarball into an empty folder', () => {
  const root = mkdtempSync(join(tmpdir(), 'daybook-package-'))
  const home = join(root, 'home')
  let tarball = ''
  const bin = join(home, 'node_modules', '.bin', 'daybook')
  const daybook = (...args: readonly string[]) => run(bin, args, { cwd: home, env: environment })

  beforeAll(async () => {
    await run('npm', ['pack', '--pack-destination', root], { env: environment })
    tarball = readdirSync(root).find((name) => name.endsWith('.tgz')) ?? ''
    mkdirSync(home)
    writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--omit=dev']
    await retried(() =>
      run('npm', ['install', ...quiet, join(root, tarball), ...frameworks], {
        cwd: home,
        env: { ...environment, ...network },
        timeout: 150_000,
      }),
    )
    writeFileSync(join(home, 'report.pdf'), pdf(['Costs were 7 in March.', 'And 8 in April.']))
    writeFileSync(join(home, 'daybook.config.js'), 'export default { budget: { rounds: 10 } }')
  }, 600_000)
  afterAll(() => rmSync(root, { recursive: true, force: true }), 600_000) // thousands of files on a busy disk

  it('contains the build, no tests except those that are examples, and no files that are only needed to develop Daybook', () => {
    const { size, unpackedSize, files } = listPacked(join(root, tarball))
    const paths = files.map(({ path }) => path)
    console.log(
      `package: ${Math.round(size / 1024)} KB packed, ${Math.round(unpackedSize / 1024)} KB unpacked, ${paths.length} files, of which ${paths.filter((path) => path.startsWith('dist/')).length} are in dist`,
    )
    expect(paths).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'dist/cli/main.js', 'ui/dist/index.html']))
    expect(testsAmong(paths)).toEqual([])
    expect(developmentFilesAmong(paths)).toEqual([])
    const listed = ['package.json', 'README.md', 'LICENSE', ...packageFiles]
    expect(paths.filter((path) => !listed.some((each) => path === each || path.startsWith(`${each}/`)))).toEqual([])
  }, 60_000)

  it('has no file that names the folder in which it was built', () => {
    const installed = join(home, 'node_modules', 'daybook')
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    expect(files.length).toBeGreaterThan(500)
    const paths = files.map((file) => join(file.parentPath, file.name))
    const folders = ['src', 'ui', 'node_modules'].map((name) => resolve(name))
    const namesFolder = (path: string) => folders.some((folder) => readFileSync(path).includes(folder))
    expect(paths.filter(namesFolder)).toEqual([])
  }, 60_000)

  it('has entries that publint accepts', async () => {
    const { stdout } = await run('node_modules/.bin/publint', ['--strict', '--pack', 'false', join(home, 'node_modules', 'daybook')], {
      env: environment,
    })
    expect(stdout).toContain('All good!')
  }, 60_000)

  it('has types that compile without skipLibCheck', async () => {
    const { exports: entries } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: object }
    const names = Object.keys(entries).filter((entry) => entry !== './package.json')
    writeFileSync(
      join(home, 'entries.ts'),
      names.map((entry, n) => `export type * as entry${n} from '${entry.replace('.', 'daybook')}'`).join('\n'),
    )
    const options = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
    const roots = ['--typeRoots', resolve('node_modules/@types')]
    await run(resolve('node_modules/.bin/tsc'), [...options, ...roots, 'entries.ts'], { cwd: home, env: environment })
  }, 60_000)

  it('prints an error that nothing has caught in a few lines, with its message', async () => {
    writeFileSync(join(home, 'no-key.ts'), "import { createAgent } from 'daybook'\ncreateAgent({ model: 'anthropic/claude-sonnet-5-5' })\n")
    const failure = await run(process.execPath, ['no-key.ts'], { cwd: home, env: environment }).catch((error: unknown) => error)
    const { stderr } = failure as { readonly stderr: string }
    expect(stderr).toContain('needs a key: set ANTHROPIC_API_KEY')
    expect(stderr.length).toBeLessThan(3_000)
  }, 60_000)

  it('answers a question about a PDF from its text', async () => {
    const { stdout, stderr } = await daybook(
      'run',
      'What were the costs in March?',
      '--quiet',
      '--attach',
      'report.pdf',
      '--conversation',
      'c1',
    )
    expect(stdout).toContain('Costs were 7 in March')
    expect(stderr).toBe('')
    expect((await daybook('export', 'c1')).stdout).toMatch(/"page_count": ?2/)
  }, 60_000)

  it('tortures a store with processes of the package', async () => {
    const { stdout } = await daybook('--data', join(root, 'tortured'), 'torture', '--only', 'kill-append,leases')
    expect(stdout).toMatch(/^2 rows: nothing was lost/m)
  })

  it('serves its page, and exits cleanly on a signal', async () => {
    const server = spawn(bin, ['serve', '--port', '0'], { cwd: home, env: environment, stdio: ['ignore', 'pipe', 'ignore'] })
    const ended = new Promise<number | null>((resolve) => server.once('close', resolve))
    try {
      let url = ''
      for await (const line of createInterface({ input: server.stdout })) {
        url = /http:\S+/.exec(line)?.[0] ?? ''
        if (url !== '') break
      }
      expect(await (await fetch(url)).text()).toContain('<title>Daybook</title>')
      server.kill('SIGTERM')
      expect(await ended).toBe(0)
    } finally {
      server.kill('SIGKILL')
    }
  }, 60_000)

  it('writes a project that installs, passes its own test and has right types', async () => {
    const project = { cwd: join(home, 'my-agent'), env: { ...environment, ...network }, timeout: 150_000 }
    rmSync(project.cwd, { recursive: true, force: true }) // a second attempt begins again
    await daybook('init', 'my-agent')
    await run('npm', ['pkg', 'set', `dependencies.daybook=file:${join(root, tarball)}`], project) // this version may not be published yet
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--omit=optional']
    await retried(() => run('npm', ['install', ...quiet], project))
    expect((await run('npm', ['test'], project)).stdout).toMatch(/pass 1\n.*fail 0/s)
    await run(resolve('node_modules/.bin/tsc'), [], project)
    expect((await run(join(project.cwd, 'node_modules/.bin/daybook'), ['config'], project)).stdout).toMatch(/^agent +\.\/agent\.ts/m)
  }, 300_000)

  describeMountedApps(() => home, environment)

  it('says in one line that the version of Node is too old', async () => {
    const older = olderNodes()
    const pretended = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.1.0' } })"
    const tries = [[process.execPath, '--import', `data:text/javascript,${encodeURIComponent(pretended)}`], ...older.map((node) => [node])]
    for (const [node = '', ...flags] of tries) {
      const failure = await run(node, [...flags, bin, 'list'], { cwd: home }).catch((error: unknown) => error)
      expect(failure).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^daybook needs Node 24 or newer; this is v[^\n]+\n$/),
      })
    }
  }, 60_000)
})

/** The programs `node` in PATH whose version is too old for Daybook. */
function olderNodes(): readonly string[] {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  const major = (node: string) => Number(execFileSync(node, ['--version'], { encoding: 'utf8' }).slice(1).split('.')[0])
  return places.filter((node) => existsSync(node) && major(node) < 24)
}
