import { parseConversationKey } from '../scope.ts'
import { isId, unsafeReason } from './safety.ts'
import { formatSelector, parseSelector } from './selector.ts'
import { formatSkill, parseSkill, type SkillPath } from './skill.ts'

/**
 * A logical path: the address of a block, file, source or skill that the agent can name. It has one of these forms:
 *
 *   ar:<turn>.<record>                  a block of a turn; <record> is its name, such as `user.prompt`
 *   ar:plan.latest:<plan id>            the newest block of a plan
 *   tc:<turn>.<call>.<record>           a block of a tool call; <record> is `call`, `result`, `notice` or `code`
 *   fi:<turn>.files/<rel>               a file in the folder `files/` of a turn
 *   fi:<turn>.outputs/<rel>             a file that a tool produced, in the folder `outputs/` of a turn
 *   fi:<turn>.user.attachments/<name>   a file that the user sent
 *   so:sources_pool[1, 3-5]             sources of the pool, by their SIDs
 *   su:<turn>.<record>                  a summary that a compaction made
 *   ws:<turn>.<record>                  a working summary of a turn; only imported timelines have such blocks
 *   ks:<rel>                            an item of the knowledge base
 *   sk:<namespace>.<id>                 a skill
 *
 * A path may refer to another conversation. Such a path has `conv_<id>.`, with the id of that conversation, after the colon:
 * `ar:conv_7.turn_1.user.prompt`. Therefore a turn id may not begin with `conv_`. Paths with the prefix `ks` or `sk` belong to no
 * conversation.
 */
export type LogicalPath =
  | RecordPath
  | LatestPlanPath
  | ToolPath
  | FilePath
  | FolderPath
  | CodePath
  | SourcesPath
  | KnowledgePath
  | SkillPath

/** A path that can refer to another conversation. */
export interface InConversation {
  /** The id of the other conversation. Undefined when the path refers to the conversation in which it is used. */
  readonly conversationId?: string
}

/** A path such as `ar:<turn>.user.prompt`: a block of a turn, by its name. The paths of summaries begin with `su:` or `ws:`. */
export interface RecordPath extends InConversation {
  readonly space: 'ar' | 'su' | 'ws'
  readonly kind: 'record'
  readonly turn: string
  /** The text after the turn id and its dot: `user.prompt`, `react.plan.plan:turn_1:ab12`. Ids in this text may contain dots and colons. */
  readonly record: string
}

/** `ar:plan.latest:<plan id>`: the newest block of a plan. */
export interface LatestPlanPath extends InConversation {
  readonly space: 'ar'
  readonly kind: 'latest-plan'
  readonly planId: string
}

const toolRecords = ['call', 'result', 'notice', 'code'] as const
/** A tool call has up to four blocks with a path: the call, its result, its notice and its program. */
export type ToolRecord = (typeof toolRecords)[number]

/** `tc:<turn>.<call>.result`: a block of a tool call. */
export interface ToolPath extends InConversation {
  readonly space: 'tc'
  readonly turn: string
  readonly call: string
  readonly record: ToolRecord
}

/** The folders of a turn, by the names that they have on disk. */
export type Area = 'files' | 'outputs' | 'attachments'

/** `fi:<turn>.files/app/main.py`: a file of a turn. */
export interface FilePath extends InConversation {
  readonly space: 'fi'
  readonly kind: 'file'
  readonly turn: string
  readonly area: Area
  /** The path below the area, in Unicode form NFC. `parsePath` returns only paths that `unsafeReason` calls safe. */
  readonly rel: string
}

/** `fi:<turn>.files/app/`, or `fi:<turn>.files` for the whole area. The agent can pull or check out a folder. It can read only files. */
export interface FolderPath extends InConversation {
  readonly space: 'fi'
  readonly kind: 'folder'
  readonly turn: string
  readonly area: Area
  /** The path of the folder below the area, without its closing slash; empty for the whole area. */
  readonly rel: string
}

/** The older path of the program of a tool call, `fi:<turn>.code.<call>`. `formatPath` writes it as `tc:<turn>.<call>.code`. */
export interface CodePath extends InConversation {
  readonly space: 'fi'
  readonly kind: 'code'
  readonly turn: string
  readonly call: string
}

/** `so:sources_pool[1,3]`: sources by their SIDs. */
export interface SourcesPath extends InConversation {
  readonly space: 'so'
  readonly sids: readonly number[]
  /** True when the path names so many sources (see `maximumSids`) that `sids` does not contain all of them. */
  readonly truncated?: true
}

/** `ks:<path>`: an item of the knowledge base. */
export interface KnowledgePath {
  readonly space: 'ks'
  readonly rel: string
}

/** `parsePath` rejects longer texts. A path to `maximumSids` sources in canonical form is always shorter. */
export const maximumPathLength = 200_000

/** Parses a logical path in its canonical form or an older form, in linear time. Undefined when the text is not a safe logical path. */
export function parsePath(text: string): LogicalPath | undefined {
  const path = parsePathUnchecked(text)
  return path !== undefined && isSafe(path) ? path : undefined
}

/**
 * Parses a logical path like `parsePath`, but also accepts an unsafe file path, for example with `..`. Callers use it to tell the model why
 * a path is unsafe.
 */
export function parsePathUnchecked(text: string): LogicalPath | undefined {
  if (text.length > maximumPathLength) return undefined
  const plain = text.startsWith('conv:') ? text.slice('conv:'.length) : text
  if (plain.startsWith('skills.')) return parseSkill(plain.slice('skills.'.length))
  const colon = plain.indexOf(':')
  const parseBody = parsers.get(plain.slice(0, Math.max(0, colon)))
  return parseBody?.(plain.slice(colon + 1))
}

/** The canonical form of a path. New blocks contain paths only in this form. */
export function formatPath(path: LogicalPath): string {
  switch (path.space) {
    case 'ar':
      return path.kind === 'latest-plan' ? `ar:${conversationPrefix(path)}${latestPlanPrefix}${path.planId}` : formatRecord(path)
    case 'su':
    case 'ws':
      return formatRecord(path)
    case 'tc':
      return `tc:${conversationPrefix(path)}${path.turn}.${path.call}.${path.record}`
    case 'fi':
      return formatFile(path)
    case 'so':
      return `so:${conversationPrefix(path)}sources_pool[${formatSelector(path.sids)}]`
    case 'ks':
      return `ks:${path.rel}`
    case 'sk':
      return formatSkill(path)
    default:
      return path satisfies never
  }
}

/** Removes `conv_<id>.` from a path if `<id>` names the conversation `conversationId` itself. Every other text is returned unchanged. */
export function dropOwnConversation(text: string, conversationId: string): string {
  const [prefix, space] = /^(?:conv:)?(ar|su|ws|tc|fi|so):conv_/.exec(text) ?? []
  if (prefix === undefined) return text
  const own = `${parseConversationKey(conversationId).name}.`
  return text.startsWith(own, prefix.length) ? `${space}:${text.slice(prefix.length + own.length)}` : text
}

/**
 * Whether a path refers to another conversation. This is true for every path with a conversation id. Therefore the caller must first remove
 * the id of its own conversation from the text with `dropOwnConversation`, and then parse the path.
 */
export const isInOtherConversation = (path: LogicalPath | undefined): boolean =>
  path !== undefined && 'conversationId' in path && path.conversationId !== undefined

/**
 * The canonical form of a path. Different spellings of one path give the same text, which can be the key of a map. Undefined when the text
 * is not a logical path.
 */
export function canonicalPath(text: string): string | undefined {
  const path = parsePath(text)
  return path === undefined ? undefined : formatPath(path)
}

const latestPlanPrefix = 'plan.latest:'
const areaNames = { files: 'files', outputs: 'outputs', attachments: 'user.attachments' } as const satisfies Record<Area, string>
const areas = Object.entries(areaNames) as readonly (readonly [Area, string])[]

const conversationPrefix = ({ conversationId }: InConversation) => (conversationId === undefined ? '' : `conv_${conversationId}.`)
const formatRecord = (path: RecordPath) => `${path.space}:${conversationPrefix(path)}${path.turn}.${path.record}`

function formatFile(path: FilePath | FolderPath | CodePath): string {
  if (path.kind === 'code') return `tc:${conversationPrefix(path)}${path.turn}.${path.call}.code`
  const slash = path.kind === 'folder' && path.rel !== '' ? '/' : ''
  return `fi:${conversationPrefix(path)}${path.turn}.${areaNames[path.area]}/${path.rel}${slash}`
}

function isSafe(path: LogicalPath): boolean {
  if (path.space === 'ks') return unsafeReason(path.rel) === undefined
  if (path.space !== 'fi' || path.kind === 'code') return true
  return unsafeReason(`${path.turn}/${path.area}${path.rel === '' ? '' : `/${path.rel}`}`) === undefined
}

type BodyParser = (body: string) => LogicalPath | undefined

const parsers: ReadonlyMap<string, BodyParser> = new Map<string, BodyParser>([
  ['ar', allowConversationPrefix((body) => (body.startsWith(latestPlanPrefix) ? parseLatestPlan(body) : parseRecord('ar', body)))],
  ['su', allowConversationPrefix((body) => parseRecord('su', body))],
  ['ws', allowConversationPrefix((body) => parseRecord('ws', body))],
  ['tc', allowConversationPrefix(parseTool)],
  ['fi', allowConversationPrefix(parseFile)],
  ['so', allowConversationPrefix(parseSources)],
  ['ks', parseKnowledge],
  ['sk', parseSkill],
  ['skill', parseSkill],
])

/** Wraps a parser, so that it also accepts `conv_<id>.` before the text that it parses. */
function allowConversationPrefix(parse: (body: string) => Exclude<LogicalPath, KnowledgePath | SkillPath> | undefined): BodyParser {
  return (body) => {
    if (!body.startsWith('conv_')) return parse(body)
    const { id, rest } = splitId(body.slice('conv_'.length)) ?? {}
    const path = rest === undefined ? undefined : parse(rest)
    return id === undefined || path === undefined ? undefined : { ...path, conversationId: id }
  }
}

/** Splits a text at its first dot. Undefined when the text before the dot is not an id. */
function splitId(body: string): { readonly id: string; readonly rest: string } | undefined {
  const dot = body.indexOf('.')
  const id = body.slice(0, Math.max(0, dot))
  return isId(id) ? { id, rest: body.slice(dot + 1) } : undefined
}

// A record name may contain all visible characters, because plan and message ids in it may come from applications. It contains no white
// space, because a path must stay on one line of the prompt.
const recordShape = /^[^\s\p{Cc}\p{Cf}\p{Cs}]+$/u
const isRecord = (text: string) => recordShape.test(text) && !text.startsWith('.') && !text.endsWith('.')

function parseLatestPlan(body: string): LatestPlanPath | undefined {
  const planId = body.slice(latestPlanPrefix.length)
  return isRecord(planId) ? { space: 'ar', kind: 'latest-plan', planId } : undefined
}

function parseRecord(space: RecordPath['space'], body: string): RecordPath | undefined {
  const turn = splitId(body)
  return turn !== undefined && isRecord(turn.rest) ? { space, kind: 'record', turn: turn.id, record: turn.rest } : undefined
}

const olderToolRecords = new Map<string, ToolRecord>([
  ['in.json', 'call'],
  ['out.json', 'result'],
  ['notice.json', 'notice'],
])

function parseTool(body: string): ToolPath | undefined {
  const turn = splitId(body)
  if (turn === undefined) return undefined
  const older = turn.rest.startsWith('tool_calls.') ? splitId(turn.rest.slice('tool_calls.'.length)) : undefined
  const olderRecord = older === undefined ? undefined : olderToolRecords.get(older.rest)
  if (older !== undefined && olderRecord !== undefined) return { space: 'tc', turn: turn.id, call: older.id, record: olderRecord }
  const call = splitId(turn.rest)
  const record = toolRecords.find((name) => name === call?.rest)
  return call === undefined || record === undefined ? undefined : { space: 'tc', turn: turn.id, call: call.id, record }
}

function parseFile(body: string): FilePath | FolderPath | CodePath | undefined {
  const split = splitId(body)
  if (split === undefined) return undefined
  const { id: turn, rest } = split
  const call = rest.startsWith('code.') ? rest.slice('code.'.length) : ''
  if (isId(call)) return { space: 'fi', kind: 'code', turn, call }
  for (const [area, name] of areas) {
    if (rest === name || rest === `${name}/`) return { space: 'fi', kind: 'folder', turn, area, rel: '' }
    if (!rest.startsWith(`${name}/`)) continue
    const named = rest.slice(name.length + 1).normalize('NFC')
    const rel = named.endsWith('/') ? named.slice(0, -1) : named
    return { space: 'fi', kind: rel === named ? 'file' : 'folder', turn, area, rel }
  }
  return undefined
}

function parseSources(body: string): SourcesPath | undefined {
  if (!body.startsWith('sources_pool[') || !body.endsWith(']')) return undefined
  const { sids, truncated } = parseSelector(body.slice('sources_pool['.length, -1))
  return { space: 'so', sids, ...(truncated ? { truncated } : {}) }
}

function parseKnowledge(body: string): KnowledgePath {
  return { space: 'ks', rel: body.normalize('NFC') }
}
