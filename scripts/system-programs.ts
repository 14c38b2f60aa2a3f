// Installs the system programs that test suites need, if this script runs as root on Debian. Otherwise it prints which programs are
// missing. With CI=true a missing program is a failure, because the suites that need it would be skipped.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

interface SystemProgram {
  /** If this exists, the program is installed. It is the name of a command on PATH, or the absolute path of a file. */
  readonly shownBy: string
  readonly debianPackage: string
  readonly neededBy: string
}

/**
 * A program that the model wrote runs with the Python of the system, so the package must be installed for this Python. A Python of a
 * version manager, such as pyenv, has other packages.
 */
const pythonPackage = (name: string): SystemProgram => ({
  shownBy: `/usr/lib/python3/dist-packages/${name}`,
  debianPackage: `python3-${name}`,
  neededBy: 'programs of models',
})

/** The programs that test suites need. If a suite needs another program, add a line. */
const programs: readonly SystemProgram[] = [
  { shownBy: 'git', debianPackage: 'git', neededBy: 'docs and workspace suites' },
  { shownBy: 'script', debianPackage: 'bsdutils', neededBy: 'the chat suite, which needs a terminal' },
  { shownBy: '/usr/bin/bwrap', debianPackage: 'bubblewrap', neededBy: 'sandbox suites' },
  { shownBy: '/usr/bin/setpriv', debianPackage: 'util-linux', neededBy: 'sandbox suites' },
  { shownBy: '/usr/bin/python3', debianPackage: 'python3', neededBy: 'sandbox suites' },
  ...['numpy', 'pandas', 'matplotlib'].map(pythonPackage),
  { shownBy: '/usr/lib/postgresql', debianPackage: 'postgresql', neededBy: 'suites of the PostgreSQL store' },
  { shownBy: '/usr/sbin/pgbouncer', debianPackage: 'pgbouncer', neededBy: 'suites of the PostgreSQL store' },
  { shownBy: 'redis-server', debianPackage: 'redis-server', neededBy: 'suites of the relay over Redis' },
  { shownBy: 'chromium', debianPackage: 'chromium', neededBy: 'suites for PDF and PNG files' },
  { shownBy: 'pdftotext', debianPackage: 'poppler-utils', neededBy: 'suites for PDF and PNG files' },
  { shownBy: 'unzip', debianPackage: 'unzip', neededBy: 'suites for Word documents and presentations' },
  {
    shownBy: '/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf',
    debianPackage: 'fonts-droid-fallback',
    neededBy: 'Chinese text in PDF and PNG files',
  },
  {
    shownBy: '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf',
    debianPackage: 'fonts-dejavu-core',
    neededBy: 'Arabic and Hebrew text in PDF and PNG files',
  },
]

const onPath = (command: string) => (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)))
const isInstalled = ({ shownBy }: SystemProgram) => (shownBy.startsWith('/') ? existsSync(shownBy) : onPath(shownBy))
const missing = () => programs.filter((program) => !isInstalled(program))

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
