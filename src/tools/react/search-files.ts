import { z } from 'zod'
import { cutAt } from '../../core/cut.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { dropOwnConversation, isInOtherConversation, parsePath } from '../../core/path/logical.ts'
import { splitPhysical, toLogical } from '../../core/path/physical.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import type { FileInfo, Files } from '../../ports/files.ts'
import { defineTool } from '../define.ts'
import { detectCharset } from '../mime.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Call } from '../tool.ts'
import { createRegexMatcher, RegexLimitError, type RegexMatcher } from './regex-worker.ts'

const MAX_SCANNED = 2_000
const MAX_RESULTS = 200
const MAX_BYTES = 1024 * 1024

const count = (max: number, fallback: number) => z.number().int().min(0).max(max).default(fallback)

const params = z.object({
  root: z.string().optional().describe('outdir (default), workdir, a folder of either, files/…, <turn>/…, or fi:<turn>.files/…'),
  name_regex: z.string().optional().describe('only files whose path matches'),
  pattern: z.string().optional().describe('only files with a line that matches; without it nothing is opened'),
  context_lines: count(10, 0).describe('lines around a match in its preview'),
  max_files: count(MAX_RESULTS, MAX_RESULTS).describe('hits at most'),
  max_matches: count(MAX_RESULTS, MAX_RESULTS).describe('matches at most'),
  max_bytes: count(16 * MAX_BYTES, MAX_BYTES).describe('how much of each file is searched'),
})

type Params = z.infer<typeof params>

/** The folder to search. `outdir` is the folder with the turns, `workdir` the folder for temporary files of programs. */
interface Root {
  readonly area: 'outdir' | 'workdir'
  readonly folder: string
}

/** The time limit of a search over all files. */
const TIME_LIMIT_MS = 20_000

/** The tool `react.search_files`: finds files of the workspace by name or content. */
export const createSearchFilesTool = ({ timeLimitMs = TIME_LIMIT_MS }: { readonly timeLimitMs?: number } = {}) =>
  defineTool({
    id: 'react.search_files',
    description:
      'Find local files by name or content. Nothing is loaded: read what you need with react.read and the logical_path of a hit.',
    params,
    strategy: 'exploration',
    repeatable: true,
    returns: 'paths, sizes, logical paths, matching lines',
    constraints: ['only what is here: files of earlier turns must be pulled or checked out first'],
    async run(params, call) {
      const root = parseRoot(params.root, call)
      if (!root) return invalidRoot(params.root ?? '')
      const problem = [params.name_regex, params.pattern].map(regexProblem).find((each) => each !== undefined)
      if (problem !== undefined) return invalidRegex(problem)
      const workspace = await call.workspace()
      const files = root.area === 'outdir' ? workspace.files : workspace.scratch
      const matcher = createRegexMatcher(params)
      try {
        const listing = await files.list(root.folder, { limit: MAX_SCANNED })
        return succeeded({ output: await search(files, root, listing, params, matcher, call, performance.now() + timeLimitMs) })
      } catch (error) {
        if (error instanceof RegexLimitError) return invalidRegex(error.message)
        if (error instanceof Failure && error.code === 'file.unsafe') return invalidRoot(params.root ?? '')
        throw error
      } finally {
        matcher.close()
      }
    },
  })

async function search(
  files: Files,
  root: Root,
  listing: { readonly files: readonly FileInfo[]; readonly truncated: boolean },
  params: Params,
  matcher: RegexMatcher,
  call: Call,
  deadline: number,
): Promise<Json> {
  const relative = (path: string) => (root.folder === '' ? path : path.slice(root.folder.length + 1))
  const nameMatches = await matcher.names(listing.files.map(({ path }) => relative(path)))
  const turns = knownTurns(call.timeline)
  const hits: JsonObject[] = []
  const readItems: JsonObject[] = []
  let [matches, filesTruncated, matchesTruncated, timedOut] = [0, false, false, false]
  for (const info of listing.files.filter((_, index) => nameMatches[index])) {
    call.signal.throwIfAborted()
    if (params.pattern !== undefined && performance.now() > deadline) {
      timedOut = true
      break
    }
    if (hits.length >= params.max_files) {
      filesTruncated = true
      break
    }
    const logical = root.area === 'outdir' ? toLogical(info.path, turns) : undefined
    const hit = { path: relative(info.path), size_bytes: info.size, ...(logical !== undefined && { logical_path: logical }) }
    if (params.pattern === undefined) {
      hits.push(hit)
      continue
    }
    const text = await readText(files, info, params.max_bytes)
    if (text === undefined) continue
    const found = await matcher.lines(text, params.max_matches - matches, info.path)
    if (found.matches.length === 0) continue
    matches += found.matches.length
    matchesTruncated ||= found.more
    const rows = found.matches.map(({ line, preview }) => ({ line, preview, ...readItem(logical, line) }))
    readItems.push(...rows.flatMap(({ read_item }) => (read_item === undefined ? [] : [read_item])))
    hits.push({ ...hit, line_count: found.lines, text_symbols: text.length, matches: rows })
    if (matchesTruncated) break
  }
  return {
    root: root.folder === '' ? root.area : `${root.area}/${root.folder}`,
    hits,
    hit_count: hits.length,
    scanned_files: listing.files.length,
    ...(params.pattern !== undefined && { match_count: matches, read_items: readItems }),
    ...(listing.truncated && { scan_truncated: true, max_scanned_reached: true }),
    ...(matchesTruncated && { matches_truncated: true }),
    ...(filesTruncated && { files_truncated: true }),
    ...(timedOut && { scan_truncated: true, time_limit_reached: true }),
  }
}

function readItem(logical: string | undefined, line: number): { readonly read_item?: JsonObject } {
  return logical === undefined ? {} : { read_item: { path: logical, line_start: Math.max(1, line - 4), line_count: 9 } }
}

/** Reads a text file and decodes its first `maxBytes` bytes. Undefined for a binary file, a link, a pipe or a file that is too large. */
async function readText(files: Files, { path, size }: FileInfo, maxBytes: number): Promise<string | undefined> {
  try {
    const bytes = size > 16 * MAX_BYTES ? undefined : await files.read(path)
    const part = bytes?.subarray(0, maxBytes)
    if (part === undefined) return undefined
    const charset = detectCharset(part)
    return charset === 'utf-8' && part.subarray(0, 8_192).includes(0) ? undefined : new TextDecoder(charset).decode(part)
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe') return undefined
    throw error
  }
}

/** The folder that the model names. Undefined when it is not a folder of the workspace. */
function parseRoot(root: string | undefined, { origin, timeline, conversationId }: Call): Root | undefined {
  const text = dropOwnConversation((root ?? 'outdir').trim().replace(/(?<!\/)\/+$/, ''), conversationId)
  if (text === '' || text === '.' || text === 'outdir') return { area: 'outdir', folder: '' }
  if (text === 'workdir') return { area: 'workdir', folder: '' }
  const [, named, below] = /^(outdir|workdir)\/(.+)$/s.exec(text) ?? []
  const folder = named === undefined ? parseFolder(text, origin.turnId, knownTurns(timeline)) : below
  if (folder === undefined || unsafeReason(folder) !== undefined) return undefined
  return { area: named === 'workdir' ? 'workdir' : 'outdir', folder }
}

function parseFolder(text: string, currentTurn: string, turns: ReadonlySet<string>): string | undefined {
  if (text.includes(':')) {
    const path = parsePath(text)
    const own = path?.space === 'fi' && path.kind !== 'code' && !isInOtherConversation(path) ? path : undefined
    return own && [own.turn, own.area, ...(own.rel === '' ? [] : [own.rel])].join('/')
  }
  if (/^(files|outputs|attachments)(\/|$)/.test(text)) return `${currentTurn}/${text}`
  return turns.has(text) || text.startsWith('turn_') || splitPhysical(`${text}/x`, turns) ? text : undefined
}

const MAX_PATTERN_LENGTH = 1_000

function regexProblem(pattern: string | undefined): string | undefined {
  if (pattern === undefined) return undefined
  if (pattern.length > MAX_PATTERN_LENGTH) return `it is longer than ${MAX_PATTERN_LENGTH} characters`
  try {
    new RegExp(pattern)
    return undefined
  } catch (error) {
    return isObject(error) && typeof error.message === 'string' ? cutAt(error.message, 300) : 'it can not be read'
  }
}

const invalidRegex = (why: string) => {
  const message = `The regular expression was not used: ${why}. Send a simpler one.`
  return failed('search_invalid_regex', message, { notices: [{ code: 'search_invalid_regex', message }] })
}

const invalidRoot = (root: string) => {
  const elsewhere = isInOtherConversation(parsePath(root.trim())) ? ' It belongs to another conversation.' : ''
  const message = `"${cutAt(root, 200)}" is not a place to search.${elsewhere} Use outdir, workdir, files/…, <turn>/files/… or fi:<turn>.files/…`
  return failed('search_invalid_root', message, { notices: [{ code: 'search_invalid_root', message }] })
}
