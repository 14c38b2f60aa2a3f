import { z } from 'zod'
import { artifactContent, type Block, type Draft, readDigest } from '../../core/block/index.ts'
import { planReveal } from '../../core/hide/reveal.ts'
import type { Json } from '../../core/json.ts'
import { canonicalPath } from '../../core/path/logical.ts'
import type { Change } from '../../core/timeline/change.ts'
import { defineTool } from '../define.ts'
import { succeeded } from '../outcome.ts'
import type { Call } from '../tool.ts'

const params = z.object({
  paths: z.array(z.string()).describe('logical paths, exactly as they are shown'),
})

type Row = { readonly path: string; readonly status?: string; readonly tokens?: number }

/** Brings timeline paths back into sight. What is visible already is only pointed at. */
export const readTool = defineTool({
  id: 'react.read',
  description: 'Load existing content into view by its logical path: hidden blocks, earlier results, files of this timeline.',
  params,
  strategy: 'exploration',
  repeatable: true,
  returns: 'a status per path, then the content',
  run({ paths }, call) {
    const found = [...new Set(paths)].map((path) => readPath(path, call))
    const rows = found.map(({ row }) => row)
    const missing = rows.filter(({ status }) => status === 'missing' || status === 'not_a_logical_path').map(({ path }) => path)
    const visible = rows.filter(({ status }) => status === 'exists_in_visible_context').map(({ path }) => path)
    return succeeded({
      changes: found.flatMap(({ change }) => (change ? [change] : [])),
      output: {
        paths: rows as unknown as Json,
        total_tokens: rows.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
        ...(missing.length > 0 && { missing }),
        ...(visible.length > 0 && { exists_in_visible_context: visible }),
      },
      after: found.flatMap(({ copies = [] }) => copies),
      notices: missing.length === 0 ? [] : [{ code: 'read_paths_missing', message: `Not found: ${missing.join(', ')}.`, missing }],
    })
  },
})

function readPath(path: string, call: Call): { readonly row: Row; readonly change?: Change; readonly copies?: readonly Draft[] } {
  const canonical = canonicalPath(path)
  if (canonical === undefined) return { row: { path, status: 'not_a_logical_path' } }
  const plan = planReveal(call.timeline, call.sight.slice(), call.sight.points(), canonical)
  switch (plan.kind) {
    case 'missing':
      return { row: { path, status: 'missing' } }
    case 'visible':
      return { row: { path, status: 'exists_in_visible_context' } }
    case 'reveal':
      return { row: { path, status: 'revealed', tokens: tokensOf(plan.blocks, call) }, change: plan.change }
    case 'copy':
      return { row: { path, tokens: tokensOf(plan.blocks, call) }, copies: plan.blocks.map((block) => copyOf(block, call)) }
    default:
      return plan satisfies never
  }
}

const tokensOf = (blocks: readonly Block[], { sight }: Call) => blocks.reduce((sum, { text = '' }) => sum + sight.tokens(text), 0)

/** The cached prefix keeps its hidden original; what is read again stands at the end. */
function copyOf(block: Block, { place }: Call): Draft {
  const digest = readDigest(block) ?? { artifact_path: block.path ?? '' }
  return artifactContent(place, {
    path: block.path ?? '',
    mime: block.mime ?? 'text/markdown',
    digest,
    ...(block.text !== undefined && { text: block.text }),
    ...(block.blob && { blob: block.blob }),
  })
}
