import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openSandboxFixture } from '../../testing/conformance/sandbox-programs.ts'
import { defaultLimits } from './bubblewrap.ts'
import { findCgroups, openCgroup } from './cgroups.ts'
import { createBubblewrapSandbox, findSandbox } from './index.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A folder with files such as those of /proc and /sys/fs/cgroup. Paths in the contents that begin with `ROOT` lead into it. */
function machine(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'daybook-cgroups-'))
  folders.push(root)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content.replaceAll('ROOT', root))
  }
  return root
}

const mount = (root: string, folder: string, type: string, options: string) =>
  `30 20 0:26 ${root} ROOT/${folder} rw - ${type} cgroup rw,${options}\n`

describe('the cgroups of this process', () => {
  it('are found with version 1, also in a container that sees only a part of them', () => {
    const root = machine({
      'proc/cgroup': '4:memory:/docker/abc/daybook\n8:pids:/\n0::/\n',
      'proc/mountinfo': mount('/docker/abc', 'memory', 'cgroup', 'memory') + mount('/', 'pids', 'cgroup', 'pids'),
      'memory/daybook/cgroup.procs': '',
      'pids/cgroup.procs': '',
    })
    expect(findCgroups(`${root}/proc`)).toEqual({ version: 1, folders: [`${root}/memory/daybook`, `${root}/pids`] })
  })

  it('are found with version 2, in the own cgroup or above it, if both controllers are there', () => {
    const files = {
      'proc/cgroup': '0::/daybook.service/main\n',
      'proc/mountinfo': mount('/', 'cgroup', 'cgroup2', 'nsdelegate'),
      'cgroup/daybook.service/cgroup.procs': '',
      'cgroup/daybook.service/cgroup.subtree_control': 'cpu memory pids\n',
      'cgroup/daybook.service/main/cgroup.procs': '',
      'cgroup/daybook.service/main/cgroup.subtree_control': '\n',
    }
    const root = machine(files)
    expect(findCgroups(`${root}/proc`)).toEqual({ version: 2, folders: [`${root}/cgroup/daybook.service`] })
    const without = machine({ ...files, 'cgroup/daybook.service/cgroup.subtree_control': 'cpu pids\n' })
    expect(findCgroups(`${without}/proc`)).toBeUndefined()
  })

  it('are not used if the machine has none, or hides them', () => {
    for (const files of [
      {},
      { 'proc/cgroup': '0::/../x\n', 'proc/mountinfo': mount('/', 'cgroup', 'cgroup2', 'rw') },
      { 'proc/cgroup': 'nonsense' },
    ])
      expect(findCgroups(`${machine(files)}/proc`)).toBeUndefined()
  })

  it('are removed after a minute if a killed process left them', () => {
    const root = machine({
      'proc/cgroup': '0::/\n',
      'proc/mountinfo': mount('/', 'cgroup', 'cgroup2', 'rw'),
      'cgroup/cgroup.procs': '',
      'cgroup/cgroup.subtree_control': 'memory pids\n',
      'cgroup/daybook-3-1/cgroup.procs': '7\n',
    })
    for (const name of ['daybook-1-1', 'daybook-2-1', 'other']) mkdirSync(join(root, 'cgroup', name))
    const before = new Date(Date.now() - 120_000)
    for (const name of ['daybook-1-1', 'daybook-3-1', 'other']) utimesSync(join(root, 'cgroup', name), before, before)
    expect(findCgroups(`${root}/proc`)).toBeDefined()
    const left = readdirSync(join(root, 'cgroup')).filter((name) => !name.startsWith('cgroup.'))
    expect(left.sort()).toEqual(['daybook-2-1', 'daybook-3-1', 'other'])
  })

  it('have the limits of a program with version 2', async () => {
    const root = machine({ 'cgroup/cgroup.procs': '' })
    const cgroup = openCgroup({ version: 2, folders: [`${root}/cgroup`] }, defaultLimits)
    expect(cgroup).toBeDefined()
    const made = join(root, 'cgroup', readdirSync(join(root, 'cgroup')).find((name) => name.startsWith('daybook-')) ?? '')
    const written = ['memory.max', 'pids.max'].map((file) => Number(readFileSync(join(made, file), 'utf8')))
    expect(written).toEqual([defaultLimits.memoryBytes + 64 * 1024 * 1024, defaultLimits.processes + 12])
    for (const fd of cgroup?.joinFds ?? []) writeSync(fd, '0')
    expect(readFileSync(join(made, 'cgroup.procs'), 'utf8')).toBe('0')
    writeFileSync(join(made, 'memory.events'), 'low 0\noom 2\noom_kill 1\n')
    expect(cgroup?.ranOutOfMemory()).toBe(true)
    writeFileSync(join(made, 'memory.events'), 'low 0\noom 0\noom_kill 0\n')
    expect(cgroup?.ranOutOfMemory()).toBe(false)
  })
})

const parents = findCgroups()
const found = await findSandbox()
describe.skipIf(parents === undefined || found.sandbox === undefined)('a program in a cgroup of this machine', () => {
  it('is in the cgroup, and the cgroup is gone afterwards', async () => {
    const fixture = await openSandboxFixture(createBubblewrapSandbox({ languages: found.sandbox?.languages ?? [] }))
    const ours = () =>
      (parents?.folders ?? []).flatMap((folder) => readdirSync(folder)).filter((name) => name.startsWith(`daybook-${process.pid}-`))
    const code = 'import time\nopen("files/started", "w")\nwhile not (WORKDIR / "go").exists(): time.sleep(0.01)'
    const running = fixture.run('python', code)
    await expect.poll(() => existsSync(join(fixture.folder, 'out/turn_2/files/started'))).toBe(true)
    const members = (parents?.folders ?? []).map((folder) =>
      ours().flatMap((name) =>
        existsSync(join(folder, name))
          ? readFileSync(join(folder, name, 'cgroup.procs'), 'utf8')
              .trim()
              .split('\n')
          : [],
      ),
    )
    const programs = [...new Set(members[0])].filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/usr/bin/python3'))
    await fixture.write('work/go', '')
    expect((await running).end).toEqual({ kind: 'exited', exitCode: 0 })
    expect(programs).toHaveLength(1)
    expect(members.every((pids) => programs.every((pid) => pids.includes(pid)))).toBe(true)
    await fixture.remove()
    expect(ours()).toEqual([])
  })

  it('can not use the files with which it joined the cgroup', async () => {
    const fixture = await openSandboxFixture(createBubblewrapSandbox({ languages: found.sandbox?.languages ?? [] }))
    const list = (pid: string) => `for fd in os.listdir("/proc/${pid}/fd"):
    if os.path.lexists(f"/proc/${pid}/fd/{fd}"): print("${pid}", os.readlink(f"/proc/${pid}/fd/{fd}"))`
    const { log } = await fixture.run('python', `import os\n${list('self')}\n${list('1')}`)
    expect(log).toContain('self socket:')
    expect(log).not.toContain('cgroup')
    await fixture.remove()
  })
})
