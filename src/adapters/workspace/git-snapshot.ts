import type { Lineage } from './git/lineage.ts'
import { author } from './git/run.ts'

export interface Snapshot {
  readonly turnId: string
  readonly parent: string | undefined
  /** By path below `files/`: the hash of what is to be there, or nothing. */
  readonly changes: ReadonlyMap<string, string | undefined>
  /** By hash: what the repository may not have yet. */
  readonly fresh: ReadonlyMap<string, Uint8Array>
  readonly now: number
}

export const snapshotMessage = (turnId: string): string => `React workspace snapshot ${turnId}`

/** Where a commit hangs until the refs that are to name it do. */
export const importRef = (turnId: string): string => `refs/daybook-import/${turnId}`

/** A commit with exactly these changes: the tree is built from contents, not from what an index believes. One process, however many files. */
export async function writeSnapshot(lineage: Lineage, snapshot: Snapshot): Promise<string> {
  const printed = await lineage.git(['fast-import', '--quiet', '--force', '--done', '--date-format=raw'], { input: importStream(snapshot) })
  return printed.toString().trim()
}

function importStream({ turnId, parent, changes, fresh, now }: Snapshot): Buffer {
  const message = snapshotMessage(turnId)
  const who = `${author.name} <${author.email}> ${Math.floor(now / 1000)} +0000`
  const chunks: (string | Uint8Array)[] = [
    `reset ${importRef(turnId)}\n`,
    ...(parent === undefined ? [] : [`from ${parent}\n`]),
    '\n',
    `commit ${importRef(turnId)}\nmark :1\nauthor ${who}\ncommitter ${who}\n`,
    `data ${Buffer.byteLength(message)}\n${message}\n`,
  ]
  const removed = [...changes].filter(([, hash]) => hash === undefined)
  const put = [...changes].filter((change): change is [string, string] => change[1] !== undefined)
  for (const [rel] of removed) chunks.push(`D ${quotePath(rel)}\n`) // first: a folder may become a file
  for (const [rel, hash] of put) {
    const bytes = fresh.get(hash)
    if (bytes === undefined) chunks.push(`M 100644 ${hash} ${quotePath(rel)}\n`)
    else chunks.push(`M 100644 inline ${quotePath(rel)}\ndata ${bytes.length}\n`, bytes, '\n')
  }
  chunks.push('\nget-mark :1\ndone\n')
  return Buffer.concat(chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)))
}

const quotePath = (rel: string) => `"files/${rel.replace(/["\\]/g, (character) => `\\${character}`)}"`
