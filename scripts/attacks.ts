// Runs the suites of the table of attacks. With UPDATE_ATTACKS=1 the table in docs/security.md is written again.

import { spawnSync } from 'node:child_process'
import { attacks } from '../test/support/attacks/list.ts'

const files = [...new Set(attacks.map(({ file }) => file))]
const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'daybook', ...files], {
  stdio: 'inherit',
  env: { ...process.env, SHOW_ATTACKS: '1' },
})
process.exitCode = status ?? 1
