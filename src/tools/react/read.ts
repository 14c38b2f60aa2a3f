import { z } from 'zod'
import { isInOtherConversation, type LogicalPath, parsePath } from '../../core/path/logical.ts'
import { mergeSources } from '../../core/sources/pool.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { Knowledge } from '../../ports/knowledge.ts'
import type { Skills } from '../../ports/skills.ts'
import { defineTool } from '../define.ts'
import { succeeded } from '../outcome.ts'
import { extractDocumentText } from '../read/document-text.ts'
import { findFile, materialize } from '../read/file.ts'
import {
  findElsewhere,
  findRecord,
  findSources,
  missingContent,
  type PathContent,
  type PresentContent,
  visiblePathOf,
} from '../read/find.ts'
import { findKnowledge, findSkill } from '../read/knowledge.ts'
import { type ReadRequest, requestsOf } from '../read/request.ts'
import { missingNotice, type ReadResult, readStatus, revealContent, type StatusRow } from '../read/reveal.ts'
import { findVisibleCopy, planRevealOf } from '../read/visible.ts'
import { linesOf, type ReadLimits, readLimits } from '../read/window.ts'
import type { Call, Tool } from '../tool.ts'

const lineNumbers = z.union([z.enum(['disabled', 'lines', 'sparsed']), z.boolean()])
const count = z.number().int()

const params = z.object({
  paths: z.array(z.string()).describe('logical paths, exactly as they are shown'),
  items: z
    .array(
      z.object({
        path: z.string(),
        line_start: count.optional(),
        line_count: count.optional(),
        offset_text_symbols: count.optional(),
        max_text_symbols: count.optional(),
        line_numbers: lineNumbers.optional(),
      }),
    )
    .optional()
    .describe('ranges: parts of long texts, by lines from 1 or by symbols from 0'),
  line_numbers: lineNumbers.optional().describe('"lines", "sparsed" or "disabled"'),
  max_text_symbols: count.optional().describe('show less of each text than allowed'),
  stats_only: z.boolean().optional().describe('only sizes and types; nothing comes into view'),
})

/** Readers for paths outside of the conversation, and the limits of `react.read`. */
export interface ReadOptions {
  /** Reads `ks:` paths. Without this reader, these paths are reported as missing. */
  readonly knowledge?: Knowledge
  readonly skills?: Skills
  /** Extracts the text of PDFs for a model that can not read PDFs. */
  readonly documents?: DocumentReader
  readonly limits?: Partial<ReadLimits>
}

/**
 * The tool `react.read`: shows the content of logical paths to the model. If the prompt already shows the content, the tool returns only
 * the path.
 */
export function createReadTool({ limits: ownLimits = {}, ...resolvers }: ReadOptions = {}): Tool {
  const limits = { ...readLimits, ...ownLimits }
  return defineTool({
    id: 'react.read',
    description:
      'Load existing content into view by its logical path: what was hidden, earlier results, files, sources, knowledge, skills.',
    params,
    strategy: 'exploration',
    repeatable: true,
    returns: 'a status per path, then the content',
    async run(params, call) {
      const statsOnly = params.stats_only === true
      const reader = createReader(call, limits, statsOnly, resolvers)
      for (const request of requestsOf(params, call.conversationId)) await reader.read(request)
      const { rows, changes, results, sources } = reader
      return succeeded({
        changes,
        sources,
        output: readStatus(rows, limits, statsOnly),
        after: results.flatMap(({ digest, content }) => (digest ? [digest, content] : [content])),
        notices: missingNotice(rows),
      })
    },
  })
}

/** Reads the paths of one call. Collects the status rows, blocks and changes. */
function createReader(call: Call, limits: ReadLimits, statsOnly: boolean, { knowledge, skills, documents }: Omit<ReadOptions, 'limits'>) {
  const rows: StatusRow[] = []
  const changes: Change[] = []
  const results: ReadResult[] = []
  const sources: IncomingSource[] = []
  let pool = call.timeline.sources // includes the sources of skills that this call has read, so that the next skill gets other SIDs
  const readPaths = new Set<string>()

  async function read(request: ReadRequest): Promise<void> {
    const parsed = request.path === undefined ? undefined : parsePath(request.path)
    if (request.path === undefined || parsed === undefined) return show(missingContent(request.given, 'not_a_logical_path'), request)
    if (isInOtherConversation(parsed)) return show(await findElsewhere(parsed, request.path, call), request)
    if (parsed.space === 'so') return readSources(request.path, parsed.sids, request)
    await showFile(await find(parsed, request.path), request, parsed)
  }

  async function readSources(path: string, sids: readonly number[], request: ReadRequest): Promise<void> {
    const { files, contents } = findSources(path, sids, call, request.maxSymbols)
    for (const file of files) await showFile(await findFile(file, call), request, file)
    const { maxSymbols: _applied, ...rest } = request // `findSources` has already applied `maxSymbols`
    for (const content of contents) show(content, rest)
  }

  async function find(parsed: LogicalPath, path: string): Promise<PathContent> {
    if (parsed.space === 'ks') return findKnowledge(path, knowledge, call)
    if (parsed.space === 'sk') return findSkill(path, skills, call, pool)
    if (parsed.space === 'fi' && parsed.kind === 'folder') return missingContent(path, 'folder')
    if (parsed.space === 'fi' && parsed.kind === 'file') return findFile(parsed, call)
    return findRecord(path, 'turn' in parsed ? parsed.turn : undefined, call)
  }

  /** Shows the content of a file. If the file belongs to an earlier turn, it is also copied into the workspace. */
  async function showFile(content: PathContent, request: ReadRequest, parsed: LogicalPath): Promise<void> {
    const before = results.length
    show(documents && !statsOnly ? await extractDocumentText(content, documents, limits, call) : content, request)
    if (results.length > before && parsed.space === 'fi' && parsed.kind === 'file') await materialize(parsed, call)
  }

  /**
   * Shows content in the requested form. If the prompt already shows it in this form, nothing is added. If a hidden block has the content
   * in this form, the block is made visible again where possible.
   */
  function show(content: PathContent, request: ReadRequest): void {
    if (content.kind === 'missing') {
      rows.push({ path: content.path, status: content.status, missing: true })
      return
    }
    if (!request.range) {
      if (readPaths.has(content.path)) return // already read, perhaps in another spelling
      readPaths.add(content.path)
    }
    if (statsOnly) {
      rows.push(statsOf(content, call))
      return
    }
    const result = revealContent(content, request, limits, call)
    const copy = findVisibleCopy(result.content, content.label === 'skill', call)
    if (copy) {
      rows.push({ path: content.path, status: 'exists_in_visible_context', visibleAt: visiblePathOf(copy) })
      return
    }
    const reveal = planRevealOf(result.content, call)
    if (reveal) {
      changes.push(reveal.change)
      const tokens = reveal.blocks.reduce((sum, { text = '' }) => sum + call.visiblePrompt.tokens(text), 0)
      rows.push({ path: content.path, status: 'revealed', tokens })
      return
    }
    rows.push(result.row)
    results.push(result)
    if (content.kind === 'text' && content.sources) {
      sources.push(...content.sources)
      pool = mergeSources(pool, content.sources).pool
    }
  }

  return { rows, changes, results, sources, read }
}

function statsOf(content: PresentContent, { visiblePrompt }: Call): StatusRow {
  const { path, mime } = content
  if (content.kind !== 'text')
    return { path, status: 'stats_only', mime, bytes: content.kind === 'binary' ? content.blob.size : content.size }
  const { text } = content
  return {
    path,
    status: 'stats_only',
    mime,
    bytes: Buffer.byteLength(text),
    text_symbols: text.length,
    line_count: linesOf(text).length,
    tokens: visiblePrompt.tokens(text),
  }
}
