// Runs 20 programs at the same time, one of which uses up its processes, and prints as JSON how they ended and what is left of them.

import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { identityOf } from '../../src/adapters/sandbox/identity.ts'
import { createBubblewrapSandbox, findSandbox } from '../../src/adapters/sandbox/index.ts'
import { openSandboxFixture } from '../../src/testing/conformance/sandbox-programs.ts'
import { mountsBelow, processesOf, waitFor } from './host-state.ts'

const forkBomb = `
import os, time
try:
  while True:
    if os.fork() == 0: time.sleep(600)
except OSError:
  time.sleep(2)
  print("no more processes")`
const forks = `
import os
children = [os.fork() or os._exit(0) for _ in range(15)]
for child in children: os.waitpid(child, 0)
print("made 15 processes")`

const found = await findSandbox()
if (!found.sandbox) throw new Error(found.reason)
const sandbox = createBubblewrapSandbox({ languages: found.sandbox.languages, limits: { processes: 32 } })
const uids = new Set<number>([process.getuid?.() ?? 0])
const openFiles = () => readdirSync('/proc/self/fd').length
const openBefore = openFiles()

const logs = await Promise.all(
  Array.from({ length: 20 }, async (_, index) => {
    const fixture = await openSandboxFixture(sandbox)
    const identity = identityOf(fixture.folders.work)
    if (identity) uids.add(identity.uid)
    const { log, end } = await fixture.run('python', index === 0 ? forkBomb : forks)
    await fixture.remove()
    return `${end.kind} ${log.trim()}`
  }),
)
await waitFor(() => (processesOf(uids).length === 0 && openFiles() <= openBefore ? true : undefined), 10_000)
const left = {
  files: readdirSync(tmpdir()),
  processes: processesOf(uids),
  mounts: mountsBelow(tmpdir()),
  openFiles: openFiles() - openBefore,
}
console.log(JSON.stringify({ logs, left, users: uids.size }))
