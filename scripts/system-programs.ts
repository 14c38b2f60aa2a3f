// Installs the system programs that test suites need, if this script runs as root on Debian. Otherwise it prints which programs are
// missing. With CI=true a missing program is a failure, because the suites that need it would be skipped.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

interface Program {
  readonly command: string
  readonly debianPackage: string
  readonly neededBy: string
}

/** The programs that test suites need. If a suite needs another program, add a line. */
const programs: readonly Program[] = [
  { command: 'git', debianPackage: 'git', neededBy: 'docs and workspace suites' },
  { command: 'script', debianPackage: 'bsdutils', neededBy: 'the chat suite, which needs a terminal' },
]

const onPath = (command: string) => (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)))
const missing = () => programs.filter(({ command }) => !onPath(command))

const wanted = missing()
if (wanted.length > 0 && process.getuid?.() === 0 && onPath('apt-get')) {
  const packages = wanted.map(({ debianPackage }) => debianPackage)
  console.log(`installing ${packages.join(', ')} …`)
  const quiet = {
    stdio: ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }
  execFileSync('apt-get', ['update', '-qq'], quiet)
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], quiet)
}

const stillMissing = missing()
if (stillMissing.length > 0) {
  const list = stillMissing.map(({ debianPackage, neededBy }) => `${debianPackage} (${neededBy})`).join(', ')
  console.error(`missing system programs: ${list}. Install them with your package manager; their suites are skipped.`)
  if (process.env.CI === 'true') process.exitCode = 1
}
