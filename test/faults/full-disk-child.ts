/** Checks a store in a small file system: while it has space, when it is full, and when it has space again. Prints the results. */
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../src/core/failure.ts'
import { openStoreIn } from './children.ts'

const [folder = ''] = process.argv.slice(2)
const store = await openStoreIn({ folder, file: join(folder, 'daybook.db'), blobs: join(folder, 'blobs') })
const check = () =>
  store.check().then(
    () => console.log('works'),
    (error: unknown) => console.log(error instanceof Failure ? error.code : error),
  )

await check()
for (const size of [65_536, 1]) fillWith(Buffer.alloc(size))
await check()
rmSync(join(folder, 'full'))
await check()
await store.close()

function fillWith(bytes: Uint8Array): void {
  try {
    for (;;) appendFileSync(join(folder, 'full'), bytes)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}
