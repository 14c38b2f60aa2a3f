import { z } from 'zod'
import { isHidden } from '../../core/block/index.ts'
import { planReveal } from '../../core/hide/reveal.ts'
import { type LogicalPath, parsePath } from '../../core/path/logical.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import type { Change } from '../../core/timeline/change.ts'
import { blocksAtPath } from '../../core/timeline/timeline.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { defineTool } from '../define.ts'
import { succeeded } from '../outcome.ts'
import { extractDocumentText, isDocument } from '../read/document-text.ts'
import { findFile, materialize } from '../read/file.ts'
import { findRecord, findSources, missingContent, type PathContent, visiblePathOf } from '../read/find.ts'
import { findKnowledge, findSkill, type Knowledge, type Skills } from '../read/knowledge.ts'
import { type ReadRequest, requestsOf } from '../read/request.ts'
import { findVisibleCopy, missingNotice, type ReadResult, readStatus, revealContent, type StatusRow } from '../read/reveal.ts'
import { type ReadLimits, readLimits } from '../read/window.ts'
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

export interface ReadOptions {
  /** Without it, `ks:` paths lead nowhere. */
  readonly knowledge?: Knowledge
  readonly skills?: Skills
  /** Reads PDF for a model that can not be shown any. */
  readonly documents?: DocumentReader
  readonly limits?: Partial<ReadLimits>
}

/** Brings anything that has a logical path into view, each thing once. What is visible already is only pointed at. */
export function createReadTool({ limits: wanted = {}, ...givers }: ReadOptions = {}): Tool {
  const limits = { ...readLimits, ...wanted }
  return defineTool({
    id: 'react.read',
    description:
      'Load existing content into view by its logical path: what was hidden, earlier results, files, sources, knowledge, skills.',
    params,
    strategy: 'exploration',
    repeatable: true,
    returns: 'a status per path, then the content',
    async run(given, call) {
      const statsOnly = given.stats_only === true
      const reader = createReader(call, limits, statsOnly, givers)
      for (const request of requestsOf(given)) await reader.read(request)
      const { rows, changes, entered, sources } = reader
      return succeeded({
        changes,
        sources,
        output: readStatus(rows, limits, statsOnly),
        after: entered.flatMap(({ drafts }) => drafts),
        notices: missingNotice(rows),
      })
    },
  })
}

/** One call: what it has found so far. */
function createReader(call: Call, limits: ReadLimits, statsOnly: boolean, { knowledge, skills, documents }: Omit<ReadOptions, 'limits'>) {
  const rows: StatusRow[] = []
  const changes: Change[] = []
  const entered: ReadResult[] = []
  const sources: IncomingSource[] = []
  const done = new Set<string>()

  async function read(request: ReadRequest): Promise<void> {
    const parsed = request.path === undefined ? undefined : parsePath(request.path)
    if (request.path === undefined || parsed === undefined) return take(missingContent(request.given, 'not_a_logical_path'), request)
    if (!statsOnly && !request.range && reveals(request.path)) return
    if (parsed.space === 'so' && parsed.conversation === undefined) return readSources(request.path, parsed.sids, request)
    await bring(await find(parsed, request.path), request, parsed)
  }

  async function readSources(path: string, sids: readonly number[], request: ReadRequest): Promise<void> {
    const { files, found } = findSources(path, sids, call, request.maxSymbols)
    for (const file of files) await bring(await findFile(file, call), request, file)
    for (const each of found) take(each, request)
  }

  async function find(parsed: LogicalPath, path: string): Promise<PathContent> {
    if (parsed.space === 'ks') return findKnowledge(path, knowledge, call)
    if (parsed.space === 'sk') return findSkill(path, skills, call)
    if (parsed.conversation !== undefined) return missingContent(path)
    if (parsed.space === 'fi' && parsed.kind === 'folder') return missingContent(path, 'folder')
    if (parsed.space === 'fi' && parsed.kind === 'file') return findFile(parsed, call)
    return findRecord(path, 'turn' in parsed ? parsed.turn : undefined, call)
  }

  /** What only a flag keeps out of sight gets the flag taken off, where that costs nothing that is cached. */
  function reveals(path: string): boolean {
    const hidden = blocksAtPath(call.timeline, path).filter(isHidden)
    if (hidden.length === 0 || (documents && hidden.some(({ blob, mime }) => blob && isDocument(mime)))) return false
    const plan = planReveal(call.timeline, call.visiblePrompt.slice(), call.visiblePrompt.points(), path)
    if (plan.kind !== 'reveal') return false
    changes.push(plan.change)
    rows.push({ path, status: 'revealed', tokens: plan.blocks.reduce((sum, { text = '' }) => sum + call.visiblePrompt.tokens(text), 0) })
    return true
  }

  /** A file of an earlier turn that comes into view also comes into the workspace. */
  async function bring(found: PathContent, request: ReadRequest, parsed: LogicalPath): Promise<void> {
    const before = entered.length
    take(documents && !statsOnly ? await extractDocumentText(found, documents, limits, call) : found, request)
    if (entered.length > before && parsed.space === 'fi' && parsed.kind === 'file') await materialize(parsed, call)
  }

  function take(found: PathContent, request: ReadRequest): void {
    if (found.kind === 'missing') {
      rows.push({ path: found.path, status: found.status, missing: true })
      return
    }
    const key = request.range ? undefined : found.path
    if (key !== undefined && done.has(key)) return // asked for by several names
    if (key !== undefined) done.add(key)
    if (statsOnly) {
      rows.push(statsOf(found, call))
      return
    }
    const twin = request.range || isNumbered(request) ? undefined : findVisibleCopy(call.timeline, found)
    if (twin) {
      rows.push({ path: found.path, status: 'exists_in_visible_context', visibleAt: visiblePathOf(twin) })
      return
    }
    const shown = revealContent(found, request, limits, call)
    rows.push(shown.row)
    entered.push(shown)
    if (found.kind === 'text' && found.sources) sources.push(...found.sources)
  }

  return { rows, changes, entered, sources, read }
}

/** Asked for with numbers, it is not what stands there already. */
const isNumbered = ({ numbering }: ReadRequest) => numbering === 'lines' || numbering === 'sparsed'

function statsOf(found: Exclude<PathContent, { kind: 'missing' }>, { visiblePrompt: sight }: Call): StatusRow {
  const { path, mime } = found
  if (found.kind !== 'text') return { path, status: 'stats_only', mime, bytes: found.kind === 'binary' ? found.blob.size : found.size }
  const { text } = found
  return {
    path,
    status: 'stats_only',
    mime,
    bytes: Buffer.byteLength(text),
    text_symbols: text.length,
    line_count: text.split('\n').length,
    tokens: sight.tokens(text),
  }
}
