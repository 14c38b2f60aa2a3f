import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { Failure } from '../core/failure.ts'
import type { AttachedFile } from './line.ts'

/** Files to send along; one that cannot be read is named before anything is sent. */
export async function attachedFiles(names: readonly string[], folder: string): Promise<readonly AttachedFile[]> {
  return Promise.all(
    names.map(async (name) => {
      const content = await readFile(resolve(folder, name)).catch((error: NodeJS.ErrnoException) => {
        throw new Failure('attachment.rejected', `cannot read ${name}: ${error.code ?? error.message}; nothing was sent`, { cause: error })
      })
      return { name: basename(name), content }
    }),
  )
}
