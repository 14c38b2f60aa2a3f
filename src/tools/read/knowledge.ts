import { digestText } from '../../core/block/index.ts'
import type { SourcePool } from '../../core/sources/pool.ts'
import { parseToolSource } from '../../core/sources/source.ts'
import type { Knowledge } from '../../ports/knowledge.ts'
import type { Skills } from '../../ports/skills.ts'
import { poolNumbersOf, renumberText } from '../source-numbers.ts'
import type { Call } from '../tool.ts'
import { missingContent, type PathContent } from './find.ts'

/** The content at a `ks:` path. */
export async function findKnowledge(path: string, knowledge: Knowledge | undefined, call: Call): Promise<PathContent> {
  if (!knowledge) return missingContent(path, 'knowledge_resolver_missing')
  const item = await tryRead('knowledge', () => knowledge.read(path, call), call)
  if (item === readFailed) return missingContent(path, 'knowledge_resolver_error')
  if (item === undefined) return missingContent(path, 'knowledge_path_missing')
  if (item.storageMissing) return missingContent(path, 'knowledge_storage_missing')
  const { text, bytes, mime = text === undefined ? 'application/octet-stream' : 'text/markdown' } = item
  const size = bytes?.length ?? Buffer.byteLength(text ?? '')
  const digest = digestText({ artifact_path: path, mime, kind: 'file', visibility: 'internal', size_bytes: size, space: 'knowledge.space' })
  const info = { path, mime, digest, label: 'knowledge.space' }
  const source = item.source && parseToolSource(item.source)
  if (text !== undefined) return { ...info, kind: 'text', text, ...(source && { sources: [source] }) }
  if (bytes === undefined) return missingContent(path, 'knowledge_unreadable')
  return { ...info, kind: 'binary', blob: await call.blobs.put(bytes) }
}

/**
 * The content at an `sk:` path. The sources of the skill will be added to `pool`. The numbers in the skill's citations are replaced by the
 * SIDs that these sources get.
 */
export async function findSkill(path: string, skills: Skills | undefined, call: Call, pool: SourcePool): Promise<PathContent> {
  const skill = await tryRead('skills', async () => skills?.read(path, call), call)
  if (!skill || skill === readFailed) return missingContent(path, 'skill_missing')
  const sources = skill.sources?.flatMap((row) => parseToolSource(row) ?? []) ?? []
  const numbers = skill.sources === undefined ? undefined : poolNumbersOf({ sources }, pool)
  const text = numbers === undefined ? skill.text : renumberText(skill.text, numbers)
  return {
    kind: 'text',
    path: skill.path,
    mime: 'text/markdown',
    text,
    label: 'skill',
    ...(sources.length > 0 && { sources }),
  }
}

const readFailed = Symbol('failed')

/**
 * Calls `read`. An exception is reported to the operator, and the model is only told that this path could not be read. The other paths of
 * the call are still read.
 */
async function tryRead<T>(where: string, read: () => Promise<T>, call: Call): Promise<T | typeof readFailed> {
  try {
    return await read()
  } catch (error) {
    call.onProblem?.({ where, error })
    return readFailed
  }
}
