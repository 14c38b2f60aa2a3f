import { Failure } from '../../core/failure.ts'
import { filePath } from '../../core/path/build.ts'
import { stripAbsolutePaths } from '../../core/secrets.ts'
import type { Files } from '../../ports/files.ts'
import type { Hydration, HydrationRef, RecordedFiles } from '../../ports/workspace.ts'
import type { VersionStore } from './files.ts'
import { findTurnFiles, listBelow, readFiles } from './files.ts'
import { isWithin } from './names.ts'

export interface HydrationContext {
  readonly versions: VersionStore
  readonly files: Files
  readonly history: RecordedFiles
}

/** Fewer than this are written one by one; a folder of many is laid as a whole. */
const MIN_FOLDER_WRITE = 4

/** Files of an earlier turn, brought here read-only. */
export async function hydrate(turnId: string, refs: readonly HydrationRef[], parts: HydrationContext): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  const errors: { ref: HydrationRef; message: string }[] = []
  let fetched = 0
  for (const ref of refs) {
    const brought = await hydrateRef(turnId, ref, parts).catch(failureOrThrow)
    if (brought instanceof Failure) {
      errors.push({ ref, message: stripAbsolutePaths(brought.message) })
      continue
    }
    fetched += brought.fetched
    if (brought.lost.length > 0) errors.push({ ref, message: missingBytesMessage(brought.lost) })
    if (brought.sizes.size > 0) present.push({ ref, files: presentFiles(turnId, ref, brought.sizes) })
    else if (brought.lost.length === 0) missing.push(ref)
  }
  return { present, missing, errors, fetched }
}

/** Files of the turn that is being worked on: what is here is the truth, and stays. Only a file that is asked for by name is fetched. */
export async function hydrateCurrent(
  turnId: string,
  refs: readonly HydrationRef[],
  { files, history }: HydrationContext,
): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  let fetched = 0
  for (const ref of refs) {
    const here = await listBelow(files, `${turnId}/${ref.area}`)
    const sizes = new Map([...here].filter(([rel]) => isWithin(rel, ref.rel)).map(([rel, { size }]) => [rel, size]))
    const bytes = sizes.size > 0 || ref.rel === '' ? undefined : await history.bytes(filePath(turnId, ref.area, ref.rel))
    if (bytes) {
      await files.write(`${turnId}/${ref.area}/${ref.rel}`, bytes, { readOnly: ref.area === 'attachments' })
      sizes.set(ref.rel, bytes.length)
      fetched++
    }
    if (sizes.size > 0) present.push({ ref, files: presentFiles(turnId, ref, sizes) })
    else missing.push(ref)
  }
  return { present, missing, errors: [], fetched }
}

/** A folder that has become a link, a disk that is full: the other refs may still be had. */
function failureOrThrow(error: unknown): Failure {
  if (error instanceof Failure) return error
  throw error
}

interface HydratedRef {
  readonly sizes: ReadonlyMap<string, number>
  readonly lost: readonly string[]
  readonly fetched: number
}

async function hydrateRef(turnId: string, ref: HydrationRef, parts: HydrationContext): Promise<HydratedRef> {
  const { versions, files, history } = parts
  const folder = `${turnId}/${ref.area}`
  const { stored: kept, recorded, missing: lost } = await findTurnFiles(turnId, ref, parts)
  const local = await readLocal(files, folder, [...kept.keys(), ...recorded.keys()])
  const here = new Map([...kept].flatMap(([rel, { hash }]) => local.same(rel, (bytes) => versions.hashOf(bytes) === hash)))
  const absent = new Map([...kept].filter(([rel]) => !here.has(rel)))
  const read = absent.size > 0 ? await versions.read(absent, history) : new Map<string, Uint8Array>()
  const gone = [...absent.keys()].filter((rel) => !read.has(rel))
  const foreign = [...recorded].filter(([rel, bytes]) => local.same(rel, (own) => Buffer.compare(own, bytes) === 0).length === 0)
  const brought = new Map([...read, ...foreign])
  const contents = new Map([...here, ...read, ...recorded])
  const open = [...contents.keys()].filter((rel) => brought.has(rel) || !local.infos.get(rel)?.readOnly)
  await writeReadOnly(files, folder, { contents, open, infos: local.infos })
  const sizes = new Map([...contents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([rel, bytes]) => [rel, bytes.length]))
  return { sizes, lost: [...lost, ...gone], fetched: brought.size }
}

/** What lies here under these names. */
async function readLocal(files: Files, folder: string, rels: readonly string[]) {
  const infos = await listBelow(files, folder)
  const contents = await readFiles(
    files,
    folder,
    rels.filter((rel) => infos.has(rel)),
  )
  return {
    infos,
    same(rel: string, isIt: (bytes: Uint8Array) => boolean): readonly (readonly [string, Uint8Array])[] {
      const bytes = contents.get(rel)
      return bytes && isIt(bytes) ? [[rel, bytes]] : []
    },
  }
}

interface FolderContents {
  readonly contents: ReadonlyMap<string, Uint8Array>
  /** Those that are not here, or not read-only. */
  readonly open: readonly string[]
  readonly infos: Awaited<ReturnType<typeof listBelow>>
}

/** Read-only, beside whatever else of that turn is here. */
async function writeReadOnly(files: Files, folder: string, { contents, open, infos }: FolderContents): Promise<void> {
  const overwritten = open.some((rel) => infos.get(rel)?.readOnly) // a program has changed what it was not to touch
  if (open.length < MIN_FOLDER_WRITE && !overwritten && (await writeEach(files, folder, contents, open))) return
  const others = await readFiles(
    files,
    folder,
    [...infos.keys()].filter((rel) => !contents.has(rel)),
  )
  await files.replaceFolder(folder, new Map([...others, ...contents]), { readOnly: true })
}

/** False where a folder lies in the way of a file: one that a program has emptied and left. It goes when the whole is laid. */
async function writeEach(files: Files, folder: string, contents: FolderContents['contents'], open: readonly string[]): Promise<boolean> {
  try {
    for (const rel of open) await files.write(`${folder}/${rel}`, contents.get(rel) as Uint8Array, { readOnly: true })
    return true
  } catch (error) {
    if (error instanceof Failure && error.details.reason === 'not_a_file') return false
    throw error
  }
}

function presentFiles(turnId: string, { area }: HydrationRef, sizes: ReadonlyMap<string, number>) {
  return [...sizes].map(([rel, size]) => ({ path: `${turnId}/${area}/${rel}`, size }))
}

const missingBytesMessage = (lost: readonly string[]) => {
  const named = lost.slice(0, 10).join(', ')
  return `${lost.length === 1 ? 'the bytes of one file are' : `the bytes of ${lost.length} files are`} nowhere to be found: ${named}`
}
