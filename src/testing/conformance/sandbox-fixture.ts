import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Sandbox, SandboxFolders, SandboxLanguage, SandboxProgram, SandboxReport } from '../../ports/sandbox.ts'

/** Runs programs in folders of their own, and reads the files that they leave. */
export interface SandboxFixture {
  readonly folder: string
  readonly folders: SandboxFolders
  run(language: SandboxLanguage['id'], code: string, options?: Partial<SandboxProgram>): Promise<SandboxReport>
  /** Writes a file below the folder of the fixture, such as `out/turn_1/files/a.txt`. */
  write(path: string, content: string): Promise<string>
  read(path: string): Promise<string>
  remove(): Promise<void>
}

/** Makes the folders `out/turn_1` and `out/turn_2`, where the second is the current turn, and `work`. */
export async function openSandboxFixture(sandbox: Sandbox): Promise<SandboxFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-sandbox-'))
  const folders = { out: join(folder, 'out'), turn: 'turn_2', work: join(folder, 'work'), context: {} }
  for (const name of ['out/turn_1/files', 'out/turn_2/files', 'work']) await mkdir(join(folder, name), { recursive: true })
  return {
    folder,
    folders,
    run: (language, code, options = {}) =>
      sandbox.run({
        execId: 'exec_1',
        language,
        code,
        folders,
        timeoutSeconds: 60,
        signal: new AbortController().signal,
        answer: () => Promise.reject(new Error('this program may not ask')),
        ...options,
      }),
    async write(path, content) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
      return join(folder, path)
    },
    read: (path) => readFile(join(folder, path), 'utf8'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
