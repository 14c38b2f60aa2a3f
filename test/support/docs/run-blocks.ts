// Runs the files that the arguments name, one after the other, each in its own folder. Prints a line of JSON for each file that fails.

import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import './prelude.ts'

const root = process.cwd()
let current = ''
process.on('unhandledRejection', (reason) => report(reason))

for (const file of process.argv.slice(2)) {
  current = file
  const folder = resolve(root, file, '..')
  mkdirSync(folder, { recursive: true })
  process.chdir(folder)
  try {
    await import(pathToFileURL(resolve(root, file)).href)
  } catch (error) {
    report(error)
  }
}
process.stderr.write('all blocks have run\n')
process.exit() // the process does not end by itself if a block has started a server or an agent

function report(error: unknown): void {
  process.stderr.write(`${JSON.stringify({ file: current, message: error instanceof Error ? error.message : String(error) })}\n`)
}
