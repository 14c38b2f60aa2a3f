import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import type { CommandContext } from '../../context.ts'
import { folderName, withExamples } from '../../options.ts'
import { plainLine, printLine } from '../../terminal.ts'

/** The files of `examples/starter`, which are copied as they are. */
const copied = ['agent.ts', 'agent.test.ts', 'daybook.config.ts', 'tsconfig.json', 'README.md']

export function initCommand({ terminal }: CommandContext): Command {
  const command = new Command('init')
    .description('write a small project with an agent, a tool and a test; no file is overwritten')
    .argument('[folder]', 'where to write it; created if it does not exist (default: the current folder)', folderName)
    .action(async (folder = '.') => {
      await writeProject(resolve(terminal.folder, folder), folder)
      if (folder !== '.') printLine(terminal, `cd ${/^[\w./-]+$/.test(folder) ? folder : JSON.stringify(plainLine(folder))}`)
      printLine(terminal, 'npm install        # installs Daybook')
      printLine(terminal, 'npm test           # tests the agent without a model')
      printLine(terminal, 'npm run check      # checks the types')
      printLine(terminal, 'npm run dev        # serves the agent with a web page, and loads it again when you save a file')
    })
  return withExamples(command, [['daybook init my-agent', 'writes the project into the folder my-agent']])
}

async function writeProject(folder: string, shownFolder: string): Promise<void> {
  const contents = await projectFiles(basename(folder))
  const taken = Object.keys(contents).filter((name) => existsSync(join(folder, name)))
  if (taken.length > 0) throw alreadyThere(taken.map((name) => join(shownFolder, name)))
  try {
    await mkdir(folder, { recursive: true })
    // `wx` fails if another program has written the file since the check above
    for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text, { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new RangeError(`cannot write into ${shownFolder}: ${error.message}`, { cause: error })
  }
}

const alreadyThere = (files: readonly string[]) =>
  new RangeError(
    `${files.join(', ')} ${files.length === 1 ? 'is' : 'are'} already there; nothing was written. Choose another folder: daybook init <folder>`,
  )

/**
 * The content of each file of the project. `package.json` and `.gitignore` are not copied but made here, because npm treats files with
 * these names specially when it packs a package.
 */
async function projectFiles(folderName: string): Promise<Readonly<Record<string, string>>> {
  const manifest = createRequire(import.meta.url).resolve('daybook/package.json')
  const own = JSON.parse(await readFile(manifest, 'utf8')) as {
    readonly version: string
    readonly dependencies: { readonly zod: string }
    readonly devDependencies: { readonly typescript: string }
    readonly engines: { readonly node: string }
  }
  const starter = join(dirname(manifest), 'examples', 'starter')
  const texts = await Promise.all(copied.map(async (name) => [name, await readFile(join(starter, name), 'utf8')] as const))
  const project = {
    name: packageName(folderName),
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: own.engines,
    scripts: { dev: 'daybook dev', chat: 'daybook chat', start: 'daybook serve', check: 'tsc', test: 'node --test' },
    dependencies: { daybook: `^${own.version}`, zod: `^${own.dependencies.zod}` },
    devDependencies: { '@types/node': '^24.0.0', typescript: `^${own.devDependencies.typescript}` },
  }
  return {
    'package.json': `${JSON.stringify(project, null, 2)}\n`,
    '.gitignore': 'node_modules\n.daybook\n.env\n',
    ...Object.fromEntries(texts),
  }
}

/** A package name that npm accepts, made from the name of the folder. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-|-$/g, '')
  return name === '' || name === 'daybook' || name === 'node-modules' ? 'my-agent' : name.slice(0, 100)
}
