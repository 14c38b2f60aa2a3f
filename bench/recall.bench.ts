import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bridgeSamples } from './recall/bridges.ts'
import { clozeSample } from './recall/cloze.ts'
import { readRecallFile } from './recall/data.ts'
import { heldOutWorld } from './recall/held-out.ts'
import { oneUserSamples } from './recall/one-user.ts'
import { printQuality } from './recall/quality.ts'
import { benchAppends, benchSpeed } from './recall/speed.ts'
import { twoPeopleSamples } from './recall/two-people.ts'

/**
 * Measures what a memory search finds, how long it takes, and what the index costs an append. `--data path`, once or several times, names
 * files in the shape of LoCoMo or LongMemEval-S. Without it, generated conversations are searched. Those that are called held out have other
 * subjects, people and phrases than those that the rules of the search were chosen with.
 */
export async function bench(options: readonly string[] = []): Promise<void> {
  const files = [...dataFiles(options), ...(process.env.RECALL_DATA ?? '').split(',').filter((file) => file !== '')]
  for (const file of files) await printQuality(file, readRecallFile(file))
  if (files.length === 0) {
    await printQuality('two people', twoPeopleSamples(8))
    await printQuality('two people, held out', twoPeopleSamples(8, heldOutWorld))
    await printQuality('one user', oneUserSamples('chats.txt'))
    await printQuality('one user, held out', oneUserSamples('chats-held-out.txt'))
    await printQuality('bridges', bridgeSamples(8))
    await printQuality('sentences of documents', [clozeSample(join(import.meta.dirname, '..', 'docs'))])
  }
  const folder = mkdtempSync(join(tmpdir(), 'daybook-recall-'))
  try {
    await benchSpeed(folder)
    await benchAppends(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The files that `--data path` or `--data=path` name. */
function dataFiles(options: readonly string[]): readonly string[] {
  return options.flatMap((option, at) => {
    if (option.startsWith('--data=')) return [option.slice('--data='.length)]
    const path = options[at + 1]
    if (option !== '--data') return []
    if (path === undefined || path.startsWith('--')) throw new TypeError('--data needs the path of a file')
    return [path]
  })
}
