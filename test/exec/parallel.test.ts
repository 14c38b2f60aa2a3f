import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'

const before = process.env.TMPDIR
const folder = mkdtempSync(join(tmpdir(), 'daybook-parallel-'))
process.env.TMPDIR = folder // every temporary file of this test is below this folder
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  rmSync(folder, { recursive: true, force: true })
})
const { sandbox } = await findSandbox()

const processesWith = (text: string) =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false // the process has ended
    }
  })

it.runIf(sandbox)(
  '20 programs at the same time each have their own files, and leave no process, mount, socket or file behind',
  async () => {
    const code = (n: number) =>
      `import os, time\nopen("files/a.txt", "w").write("${n}")\ntime.sleep(0.2)\nprint(sorted(os.listdir("files")))`
    const contract = [{ filename: 'files/a.txt', description: 'a number' }]
    const written = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const replies = [reply.call('exec_tools.execute_code_python', { contract }, { code: code(n) }), reply.answer('Done.')]
        const harness = createHarness({ ...(sandbox && { sandbox }), replies, conversationId: `c${n}` })
        await harness.say('Go.')
        await harness.agent.close()
        const results = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.result')
        expect(results[0]?.text).toContain("Program log (tail):\n['a.txt']")
        return results.find(({ path }) => path?.endsWith('files/a.txt'))?.text
      }),
    )
    expect(written).toEqual(Array.from({ length: 20 }, (_, n) => String(n)))
    expect(readdirSync(folder)).toEqual([])
    expect(processesWith(folder)).toEqual([])
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(folder)
  },
)
