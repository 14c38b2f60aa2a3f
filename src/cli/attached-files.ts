import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { Failure } from '../core/failure.ts'
import type { AttachedFile } from './line.ts'
import { readFailureText } from './unreadable.ts'

/** Files to send along; one that cannot be read is named before anything is sent. */
export async function readAttachments(names: readonly string[], folder: string): Promise<readonly AttachedFile[]> {
  return Promise.all(
    names.map(async (name) => {
      const content = await readRegularFile(resolve(folder, name)).catch((error: NodeJS.ErrnoException) => {
        throw new Failure('attachment.rejected', `cannot read ${name}: ${readFailureText(error)}; nothing was sent`, { cause: error })
      })
      return { name: basename(name), content }
    }),
  )
}

/** Never waits: a pipe that nobody writes to, or a device without an end, is refused instead of read. */
async function readRegularFile(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await handle.stat()
    if (!found.isFile() && !found.isDirectory()) throw new RangeError('it is a pipe or a device; save it as a file first')
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}
