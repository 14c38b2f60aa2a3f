import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasPostgres } from '../test/support/postgres.ts'
import { bridgeSamples } from './recall/bridges.ts'
import { clozeSample } from './recall/cloze.ts'
import { readRecallFile } from './recall/data.ts'
import { heldOutWorld } from './recall/held-out.ts'
import { oneUserSamples } from './recall/one-user.ts'
import { benchPostgres } from './recall/postgres.ts'
import { printQuality } from './recall/quality.ts'
import { benchAppends, benchSpeed } from './recall/speed.ts'
import { twoPeopleSamples } from './recall/two-people.ts'

/**
 * Measures what a memory search finds, how long it takes, and how much slower the index makes an append. `--data path` names a file in the
 * format of LoCoMo or LongMemEval-S, and can be given several times. Without this option, generated conversations are searched. The
 * conversations called held out have other subjects, people and phrases than the conversations with which the rules of the search were
 * chosen. There is one exception: the author of the list of topics for advice had seen the questions for advice in `chats-held-out.txt`. So
 * only `chats-by-the-way.txt` and `chats-advice-held-out.txt` are held out for questions for advice.
 */
export async function bench(options: readonly string[] = []): Promise<void> {
  const files = [...dataFiles(options), ...(process.env.RECALL_DATA ?? '').split(',').filter((file) => file !== '')]
  for (const file of files) await printQuality(file, readRecallFile(file))
  if (files.length === 0) {
    await printQuality('two people', twoPeopleSamples(8))
    await printQuality('two people, held out', twoPeopleSamples(8, heldOutWorld))
    for (const others of ['elsewhere', 'same'] as const) {
      const kind = others === 'same' ? 'one user, other sessions about the same subjects' : 'one user'
      await printQuality(kind, oneUserSamples({ file: 'chats.txt', others }))
      await printQuality(`${kind}, held out`, oneUserSamples({ file: 'chats-held-out.txt', others }))
    }
    await printQuality('one user, facts in passing, held out', oneUserSamples({ file: 'chats-by-the-way.txt', others: 'elsewhere' }))
    await printQuality('one user, advice in other words', oneUserSamples({ file: 'chats-advice.txt', others: 'elsewhere' }))
    const heldOutAdvice = oneUserSamples({ file: 'chats-advice-held-out.txt', others: 'elsewhere' })
    await printQuality('one user, advice in other words, held out', heldOutAdvice)
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
  if (hasPostgres) await benchPostgres()
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
