import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('a round with a tool call that no client watches runs through at most 60 files', async () => {
  // in a process of its own, because the files that vitest loads have other addresses
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/round-files.ts', 'unwatched'])
  const files = stdout.trim().split('\n')
  expect(files).toContain('agent/turn/round.ts')
  expect(files.length, stdout).toBeLessThanOrEqual(60)
})
