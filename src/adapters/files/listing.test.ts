import { mkdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listFiles } from './listing.ts'
import { openRoot } from './open.ts'

it('a listing of deep folders does not begin at the root for each folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-listing-'))
  const root = openRoot(folder)
  try {
    const depth = 300
    const paths = [17, 100, 300].map((levels) => `${'d/'.repeat(levels)}a.txt`)
    mkdirSync(join(folder, 'd/'.repeat(depth)), { recursive: true })
    for (const path of paths) await writeFile(join(folder, path), 'a')
    let fromRoot = 0
    const counted = {
      ...root,
      inside(name: string) {
        fromRoot += 1
        return root.inside(name)
      },
    }
    const { files } = await listFiles(counted, [], {})
    expect(files.map(({ path }) => path)).toEqual(paths)
    expect(fromRoot).toBeLessThan(depth / 3)
  } finally {
    root.close()
    await rm(folder, { recursive: true, force: true })
  }
})
