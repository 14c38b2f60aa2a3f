import { filePath } from '../../core/path/build.ts'
import type { Files } from '../../ports/files.ts'
import type { History, Hydration, HydrationRef } from '../../ports/workspace.ts'
import { findFiles } from './find-files.ts'
import { isWithin } from './names.ts'
import { filesBelow, readSafely } from './turn-files.ts'
import type { Version, Versions } from './versions.ts'

export interface HydrationParts {
  readonly versions: Versions
  readonly files: Files
  readonly history: History
}

/** Fewer than this are written one by one; a folder of many is laid as a whole. */
const ONE_BY_ONE = 4

/** Files of an earlier turn, brought here read-only. */
export async function hydrate(turnId: string, refs: readonly HydrationRef[], parts: HydrationParts): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  const errors: { ref: HydrationRef; message: string }[] = []
  let fetched = 0
  for (const ref of refs) {
    const brought = await bring(turnId, ref, parts)
    fetched += brought.fetched
    if (brought.lost.length > 0) errors.push({ ref, message: lostMessage(brought.lost) })
    if (brought.sizes.size > 0) present.push({ ref, files: listed(turnId, ref, brought.sizes) })
    else if (brought.lost.length === 0) missing.push(ref)
  }
  return { present, missing, errors, fetched }
}

/** Files of the turn that is being worked on: what is here is the truth, and stays. Only a file that is asked for by name is fetched. */
export async function hydrateCurrent(
  turnId: string,
  refs: readonly HydrationRef[],
  { files, history }: HydrationParts,
): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  let fetched = 0
  for (const ref of refs) {
    const here = await filesBelow(files, `${turnId}/${ref.area}`)
    const sizes = new Map([...here].filter(([rel]) => isWithin(rel, ref.rel)).map(([rel, { size }]) => [rel, size]))
    const bytes = sizes.size > 0 || ref.rel === '' ? undefined : await history.bytes(filePath(turnId, ref.area, ref.rel))
    if (bytes) {
      await files.write(`${turnId}/${ref.area}/${ref.rel}`, bytes, { readOnly: ref.area === 'attachments' })
      sizes.set(ref.rel, bytes.length)
      fetched++
    }
    if (sizes.size > 0) present.push({ ref, files: listed(turnId, ref, sizes) })
    else missing.push(ref)
  }
  return { present, missing, errors: [], fetched }
}

interface Brought {
  readonly sizes: ReadonlyMap<string, number>
  readonly lost: readonly string[]
  readonly fetched: number
}

async function bring(turnId: string, ref: HydrationRef, parts: HydrationParts): Promise<Brought> {
  const { versions, files, history } = parts
  const folder = `${turnId}/${ref.area}`
  const { kept, recorded, lost } = await findFiles(turnId, ref, parts)
  const here = await unchanged(files, folder, kept, versions)
  const absent = new Map([...kept].filter(([rel]) => !here.has(rel)))
  const read = absent.size > 0 ? await versions.read(absent, history) : new Map<string, Uint8Array>()
  const gone = [...absent.keys()].filter((rel) => !read.has(rel))
  const contents = new Map([...here, ...read, ...recorded])
  const fetched = await layDown(files, folder, contents)
  const sizes = new Map([...contents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([rel, bytes]) => [rel, bytes.length]))
  return { sizes, lost: [...lost, ...gone], fetched }
}

/** What is here already, byte for byte. */
async function unchanged(files: Files, folder: string, kept: Version, versions: Versions): Promise<ReadonlyMap<string, Uint8Array>> {
  if (kept.size === 0) return new Map()
  const local = await filesBelow(files, folder)
  const same = new Map<string, Uint8Array>()
  for (const [rel, { size, hash }] of kept) {
    if (local.get(rel)?.size !== size) continue
    const bytes = await readSafely(files, `${folder}/${rel}`)
    if (bytes && versions.hashOf(bytes) === hash) same.set(rel, bytes)
  }
  return same
}

/** Read-only, beside whatever else of that turn is here. Returns how many were not here with this content. */
async function layDown(files: Files, folder: string, contents: ReadonlyMap<string, Uint8Array>): Promise<number> {
  const local = await filesBelow(files, folder)
  const open: string[] = []
  let brought = 0
  for (const [rel, bytes] of contents) {
    const info = local.get(rel)
    const same = info?.size === bytes.length && equal(await readSafely(files, `${folder}/${rel}`), bytes)
    if (!same) brought++
    if (!same || !info?.readOnly) open.push(rel)
  }
  const overwritten = open.some((rel) => local.get(rel)?.readOnly) // a program has changed what it was not to touch
  if (open.length < ONE_BY_ONE && !overwritten) {
    for (const rel of open) await files.write(`${folder}/${rel}`, contents.get(rel) as Uint8Array, { readOnly: true })
  } else if (open.length > 0) {
    const others = await Promise.all(
      [...local.keys()].filter((rel) => !contents.has(rel)).map(async (rel) => [rel, await readSafely(files, `${folder}/${rel}`)] as const),
    )
    const kept = others.filter((other): other is readonly [string, Uint8Array] => other[1] !== undefined)
    await files.replaceFolder(folder, new Map([...kept, ...contents]), { readOnly: true })
  }
  return brought
}

const equal = (a: Uint8Array | undefined, b: Uint8Array) => a !== undefined && Buffer.compare(a, b) === 0

function listed(turnId: string, { area }: HydrationRef, sizes: ReadonlyMap<string, number>) {
  return [...sizes].map(([rel, size]) => ({ path: `${turnId}/${area}/${rel}`, size }))
}

const lostMessage = (lost: readonly string[]) => {
  const named = lost.slice(0, 10).join(', ')
  return `${lost.length === 1 ? 'the bytes of one file are' : `the bytes of ${lost.length} files are`} nowhere to be found: ${named}`
}
