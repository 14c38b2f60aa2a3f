import { digestText } from '../../core/block/index.ts'
import { rewriteSids } from '../../core/citations/sids.ts'
import { mergeSources } from '../../core/sources/pool.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import type { Call } from '../tool.ts'
import { missingContent, type PathContent } from './find.ts'

/** Where `ks:` paths lead: whoever owns the knowledge resolves them, and nothing else does. */
export interface Knowledge {
  read(path: string, call: Pick<Call, 'scope' | 'signal'>): Promise<KnowledgeItem | undefined>
}

export interface KnowledgeItem {
  readonly mime?: string
  readonly text?: string
  readonly bytes?: Uint8Array
  /** The place where it is kept is not there at all. */
  readonly storageMissing?: true
}

/** Where `sk:` paths lead. */
export interface Skills {
  read(path: string, call: Pick<Call, 'scope' | 'signal'>): Promise<Skill | undefined>
}

export interface Skill {
  /** The one address of the skill, however it was asked for. */
  readonly path: string
  readonly text: string
  /** What it cites, under numbers of its own. */
  readonly sources?: readonly (IncomingSource & { readonly sid: number })[]
}

const readFailed = Symbol('failed')

/** What went wrong is between it and its owner; the model reads that it did, and the other paths are read. */
async function tryRead<T>(where: string, read: () => Promise<T>, call: Call): Promise<T | typeof readFailed> {
  try {
    return await read()
  } catch (error) {
    call.onProblem?.({ where, error })
    return readFailed
  }
}

export async function findKnowledge(path: string, knowledge: Knowledge | undefined, call: Call): Promise<PathContent> {
  if (!knowledge) return missingContent(path, 'knowledge_resolver_missing')
  const item = await tryRead('knowledge', () => knowledge.read(path, call), call)
  if (item === readFailed) return missingContent(path, 'knowledge_resolver_error')
  if (item === undefined) return missingContent(path, 'knowledge_path_missing')
  if (item.storageMissing) return missingContent(path, 'knowledge_storage_missing')
  const { text, bytes, mime = text === undefined ? 'application/octet-stream' : 'text/markdown' } = item
  const size = bytes?.length ?? Buffer.byteLength(text ?? '')
  const digest = digestText({ artifact_path: path, mime, kind: 'file', visibility: 'internal', size_bytes: size, space: 'knowledge.space' })
  const about = { path, mime, digest, label: 'knowledge.space' }
  if (text !== undefined) return { ...about, kind: 'text', text, capped: false }
  if (bytes === undefined) return missingContent(path, 'knowledge_unreadable')
  return { ...about, kind: 'binary', blob: await call.blobs.put(bytes) }
}

/** A skill's citations are renumbered to the pool's: its sources enter it with the read. */
export async function findSkill(path: string, skills: Skills | undefined, call: Call): Promise<PathContent> {
  const skill = await tryRead('skills', async () => skills?.read(path, call), call)
  if (!skill || skill === readFailed) return missingContent(path, 'skill_missing')
  const { sources = [] } = skill
  const text = sources.length === 0 ? skill.text : rewriteSids(skill.text, mergeSources(call.timeline.sources, sources).renumbered)
  return {
    kind: 'text',
    path: skill.path,
    mime: 'text/markdown',
    text,
    capped: false,
    label: 'skill',
    ...(sources.length > 0 && { sources }),
  }
}
