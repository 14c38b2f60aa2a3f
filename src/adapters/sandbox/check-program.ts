import { lstatSync, type Stats, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { InvalidOption } from '../../core/options.ts'
import type { SandboxLanguage, SandboxProgram } from '../../ports/sandbox.ts'

/** Rejects a program that no sandbox could run: an unknown language, a wrong name, or a folder or file that does not exist. */
export function checkProgram({ execId, language, folders, timeoutSeconds }: SandboxProgram, languages: readonly SandboxLanguage[]) {
  const invalid = (option: string, message: string) => new InvalidOption('sandbox.run', option, message)
  if (!languages.some(({ id }) => id === language)) throw invalid('language', `the sandbox has no language ${JSON.stringify(language)}`)
  if (!/^[\w-]+$/.test(execId)) throw invalid('execId', '`execId` may have only letters, digits, _ and -')
  if (!(timeoutSeconds > 0)) throw invalid('timeoutSeconds', '`timeoutSeconds` must be greater than 0')
  if (!isPlainName(folders.turn)) throw invalid('folders.turn', '`folders.turn` must be the name of a folder')
  for (const [option, path] of [
    ['folders.out', folders.out],
    ['folders.work', folders.work],
    ['folders.turn', join(folders.out, folders.turn)],
  ] as const) {
    // The folder of the turn must not be a link. No program can replace this folder, so a link in its place is an error of Daybook or of
    // the machine.
    if (!statsOf(path, option === 'folders.turn' ? lstatSync : statSync)?.isDirectory()) throw invalid(option, `${path} is not a folder`)
  }
  for (const [name, path] of Object.entries(folders.context)) {
    if (!name.split('/').every(isPlainName)) throw invalid('folders.context', `${JSON.stringify(name)} is not a relative path`)
    if (!statsOf(path, statSync)?.isFile()) throw invalid('folders.context', `${path} is not a file`)
  }
}

/** The stats of the file or folder at an absolute path. Undefined if it does not exist, or if this process can not access it. */
function statsOf(path: string, look: (path: string) => Stats): Stats | undefined {
  try {
    return isAbsolute(path) ? look(path) : undefined
  } catch {
    return undefined
  }
}

const isPlainName = (name: string) => name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes('\0')
