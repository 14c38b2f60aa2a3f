import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import { dropOwnConversation, formatPath, isInOtherConversation, type LogicalPath, parsePath } from '../../core/path/logical.ts'
import { toLogical, toPhysical } from '../../core/path/physical.ts'
import { selectSources } from '../../core/sources/pool.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { fetchBlob } from '../artifacts/history.ts'
import { messageForModel } from '../invoke.ts'
import { findFile } from '../read/file.ts'
import { findRecord, type MissingStatus, missingContent, type PathContent, type PresentContent } from '../read/find.ts'
import { findKnowledge, findSkill } from '../read/knowledge.ts'
import type { Call } from '../tool.ts'
import type { ExecOptions } from './exec-tools.ts'

type FetchErrorCode =
  | 'invalid_path_empty'
  | 'invalid_path_literal'
  | 'invalid_path_kind'
  | 'invalid_path_skill'
  | 'not_found'
  | 'tool_failure'

/** Content with more bytes is not sent to a program. The program can open a large file by its physical path instead. */
const maxBytes = 10 * 1024 * 1024

/**
 * The answer to `fetch_ctx(path)`: `{ret, err}`. For `so:` paths, `ret` is a list of rows of the source pool. For other paths it is an
 * object with the content. Never throws: the program reads the error in `err`. `addSources` is called with the sources of a skill.
 */
export async function fetchContext(
  given: string,
  call: Call,
  readers: ExecOptions['readers'],
  addSources: (rows: readonly IncomingSource[]) => void,
): Promise<Json> {
  try {
    const parsed = parseRequest(given, call)
    if ('code' in parsed) return refused(parsed.code, parsed.message)
    if (parsed.space === 'so') return rowsAt(formatPath(parsed), parsed.sids, call)
    const content = await find(parsed, call, readers)
    if (content.kind === 'missing') return missing(content.path, content.status)
    if (content.kind === 'text' && content.sources) addSources(content.sources)
    return await contentAnswer(content, call)
  } catch (error) {
    call.onProblem?.({ where: 'fetch_ctx', error })
    return refused('tool_failure', messageForModel(error))
  }
}

const refused = (code: FetchErrorCode, message: string): JsonObject => ({ ret: null, err: { code, message } })

type Refusal = { readonly code: FetchErrorCode; readonly message: string }

function parseRequest(given: string, { conversationId, timeline, origin }: Call): LogicalPath | Refusal {
  const path = given.trim()
  if (path === '') return { code: 'invalid_path_empty', message: 'The path is empty.' }
  const physical = toLogical(path, new Set(knownTurns(timeline)).add(origin.turnId))
  const parsed = parsePath(physical ?? dropOwnConversation(path, conversationId))
  if (parsed && isInOtherConversation(parsed)) return { code: 'not_found', message: 'The path is in another conversation.' }
  if (parsed) return parsed
  const [, space] = /^(?:conv:)?([a-z]{2,8}):/.exec(path) ?? []
  if (space === 'sk') return { code: 'invalid_path_skill', message: 'This is not the path of a skill, such as sk:public.pdf.' }
  if (space !== undefined && !spaces.has(space))
    return { code: 'invalid_path_kind', message: `There is no namespace ${space}:. Use ar:, tc:, so:, su:, fi:, ks: or sk:.` }
  return { code: 'invalid_path_literal', message: 'This is not a logical path. Copy the path exactly as it is shown.' }
}

const spaces: ReadonlySet<string> = new Set(['ar', 'tc', 'so', 'su', 'fi', 'ks', 'sk', 'ws'])

async function find(parsed: Exclude<LogicalPath, { space: 'so' }>, call: Call, readers: ExecOptions['readers']): Promise<PathContent> {
  const path = formatPath(parsed)
  if (parsed.space === 'ks') return findKnowledge(path, readers.knowledge, call)
  if (parsed.space === 'sk') return findSkill(path, readers.skills, call, call.timeline.sources)
  if (parsed.space === 'fi' && parsed.kind === 'folder') return missingContent(path, 'folder')
  if (parsed.space === 'fi' && parsed.kind === 'file') return findFile(parsed, call)
  return findRecord(path, 'turn' in parsed ? parsed.turn : undefined, call)
}

function missing(path: string, status: MissingStatus): JsonObject {
  if (status === 'knowledge_resolver_error' || status === 'workspace_version_unavailable')
    return refused('tool_failure', `${path} can not be read now (${status}).`)
  if (status === 'folder') return refused('invalid_path_kind', `${path} is a folder. Name a file, or list the folder in code.`)
  return refused('not_found', `There is nothing at ${path} (${status}).`)
}

function rowsAt(path: string, sids: readonly number[], { timeline }: Call): Json {
  const { rows } = selectSources(timeline.sources, sids)
  if (rows.length === 0) return refused('not_found', `The pool has no source of ${path}.`)
  return { ret: rows as unknown as Json, err: null } // rows are read from JSON
}

/** The content as a program gets it. A JSON text is parsed. */
async function contentAnswer(content: PresentContent, call: Call): Promise<JsonObject> {
  const { path, mime } = content
  const physical = toPhysical(path)
  const kind = content.label ?? digestKind(content.digest) ?? 'text'
  const about = { path, kind, mime, ...(physical !== undefined && { physical_path: physical }) }
  if (content.kind === 'text') {
    if (Buffer.byteLength(content.text) > maxBytes) return tooLarge(path, physical)
    const json = mime === 'application/json' ? parseJson(content.text) : undefined
    return { ret: { ...about, text: content.text, payload: json === undefined ? content.text : (json as Json) }, err: null }
  }
  const size = content.kind === 'binary' ? content.blob.size : content.size
  if (size > maxBytes) return tooLarge(path, physical)
  const bytes = content.blob && (await fetchBlob(content.blob.sha256, call.blobs))
  if (!bytes) return refused('not_found', `The content of ${path} is not stored any more.`)
  const base64 = Buffer.from(bytes).toString('base64')
  return { ret: { ...about, base64, payload: base64 }, err: null }
}

function digestKind(digest: string | undefined): string | undefined {
  const parsed = parseJson(digest)
  return isObject(parsed) && typeof parsed.kind === 'string' ? parsed.kind : undefined
}

const tooLarge = (path: string, physical: string | undefined): JsonObject =>
  refused('tool_failure', `${path} is too large to be fetched.${physical === undefined ? '' : ` Open OUTPUT_DIR/${physical} instead.`}`)
