// `node scripts/proof/torture.ts [rows | obligations]` runs `daybook torture` with SQLite in a temporary folder, and with PostgreSQL.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scenarios } from '../../src/testing/torture/torture.ts'
import { hasPostgres, startPostgres } from '../../test/support/postgres.ts'

const wantsObligations = process.argv[2] === 'obligations'
const only = scenarios.filter(({ isObligation = false }) => isObligation === wantsObligations).map(({ name }) => name)

function run(title: string, ...args: readonly string[]): void {
  console.log(title)
  const command = ['bin/daybook.js', ...args, 'torture', '--only', only.join(','), '--rounds', '2']
  const { stdout, status } = spawnSync(process.execPath, command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  console.log(stdout.split('\n').slice(1).join('\n')) // without the line that names the folder
  if (status !== 0) process.exitCode = 1
}

const data = mkdtempSync(join(tmpdir(), 'daybook-proof-'))
try {
  run('SQLite', '--data', data)
  if (hasPostgres) {
    const postgres = await startPostgres({ durable: true })
    try {
      process.env.DAYBOOK_DATABASE_URL = postgres.url
      run('PostgreSQL', '--data', data)
    } finally {
      await postgres.stop()
    }
  } else console.log('not run: torture with PostgreSQL, because it is not installed')
} finally {
  rmSync(data, { recursive: true, force: true })
}
