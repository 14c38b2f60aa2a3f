// Prints the tables that the last `npm run bench:peers` wrote, if there are any. With `--run`, runs the bench first.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const file = 'bench/peers/results.md'
if (process.argv.includes('--run')) {
  const { status } = spawnSync('npm', ['run', 'bench:peers'], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) process.exitCode = 1
}
if (existsSync(file))
  console.log(
    readFileSync(file, 'utf8')
      .replace(/^# .*\n+/, '')
      .replaceAll(/^## /gm, '### '),
  )
else
  console.log(
    `not run: ${file} does not exist. \`npm run bench:peers\` makes it: it installs the other frameworks, and runs the same work with each`,
  )
