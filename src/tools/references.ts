import type { Notice } from '../core/block/index.ts'
import { parseReference } from '../core/decision/signature.ts'
import { violation, warning } from '../core/decision/violations.ts'
import { isObject, parseJson } from '../core/json.ts'
import { blockIndex } from '../core/timeline/block-buffer.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import { failed } from './outcome.ts'
import {
  contentSize,
  type ReferenceContent,
  type ReferenceProblem,
  type ReferenceResolution,
  resolveReference,
} from './resolve-reference.ts'
import type { Call, Outcome, Tool } from './tool.ts'

/**
 * Wraps a tool, so that references in its parameters are replaced by the content they refer to. If a reference can not be replaced, the
 * tool does not run. Use it only if `hasReference` is true for the parameters.
 */
export function withBoundReferences(tool: Tool): Tool {
  return {
    ...tool,
    async run(params, call): Promise<Outcome> {
      const binder = createBinder(tool, call)
      const bound: Record<string, unknown> = {}
      for (const [name, value] of Object.entries(params)) bound[name] = await binder.bind(value, [name])
      const refusal = binder.refusal()
      if (refusal) return failed(refusal.code, refusal.message, { notices: [refusal] })
      const outcome = await tool.run(bound, call)
      return binder.notices.length === 0 ? outcome : { ...outcome, notices: [...binder.notices, ...(outcome.notices ?? [])] }
    },
  }
}

interface UnboundReference {
  readonly code: ReferenceProblem
  readonly param: string
  readonly ref: string
  readonly suggested_ref?: string
}

/** The greatest total size of the contents to which the references of one call refer. */
const maxBoundBytes = 32 * 1024 * 1024

function createBinder(tool: Tool, call: Call) {
  const unbound: UnboundReference[] = []
  const notices: Notice[] = []
  const resolutions = new Map<string, ReferenceResolution>()
  let boundBytes = 0

  /** Finds the content of a reference. An address that occurs twice is looked up only once. */
  async function resolve(address: string): Promise<ReferenceResolution> {
    const resolution = resolutions.get(address) ?? (await resolveReference(address, call))
    resolutions.set(address, resolution)
    if (!resolution.ok) return resolution
    boundBytes += contentSize(resolution.content)
    return boundBytes > maxBoundBytes ? { ok: false, path: resolution.path, problem: 'refs_too_large' } : resolution
  }

  /**
   * Replaces the references in a value. They are replaced one after the other, so that the size limit is checked before the next content is
   * read.
   */
  async function bind(value: unknown, at: readonly string[]): Promise<unknown> {
    const address = acceptsReferences(tool.id, at) ? parseReference(value) : undefined
    if (address !== undefined) return bindOne(address, at)
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const [index, item] of value.entries()) items.push(await bind(item, [...at, String(index)]))
      return items
    }
    if (!isObject(value)) return value
    const entries: [string, unknown][] = []
    for (const [key, inner] of Object.entries(value)) entries.push([key, await bind(inner, [...at, key])])
    return Object.fromEntries(entries)
  }

  async function bindOne(address: string, at: readonly string[]): Promise<unknown> {
    const param = at.join('.')
    const first = !resolutions.has(address)
    const bound = await resolve(address)
    const isText = takesText(tool, at)
    const problem = bound.ok ? misplacedProblem(bound.content, at, tool.id, isText) : bound.problem
    if (!bound.ok || problem !== undefined) {
      const similar = problem === 'ref_not_visible' ? findSimilarPath(address, call.timeline) : undefined
      unbound.push({ code: problem as ReferenceProblem, param, ref: bound.path, ...(similar !== undefined && { suggested_ref: similar }) })
      return undefined
    }
    if (first && bound.shorthand) notices.push(normalizedWarning(`ref:${address}`, `ref:${bound.path}`))
    if (first && bound.missing.length > 0) notices.push(missingSourcesWarning(bound.missing))
    return isCopy(tool.id, at) ? toCopy(bound.content) : toParamValue(bound.content, isText)
  }

  return { bind, notices, refusal: () => (unbound.length === 0 ? undefined : notVisibleViolation(tool.id, unbound)) }
}

/**
 * Whether a parameter may be a reference. Most parameters of `react.*` tools are paths. Only the content that these tools write may be a
 * reference.
 */
const acceptsReferences = (toolId: string, at: readonly string[]) =>
  !toolId.startsWith('react.') || at[0] === 'content' || at[0] === 'patch'

function misplacedProblem(content: ReferenceContent, at: readonly string[], toolId: string, isText: boolean): ReferenceProblem | undefined {
  if (at[0] === 'sources_list' && content.kind !== 'rows') return 'sources_list_requires_so_ref'
  const isDocument = toolId.startsWith('rendering_tools.write_') && at[0] === 'content'
  if (isDocument && content.kind !== 'text') return 'renderer_content_ref_not_text'
  return isText && content.kind === 'bytes' ? 'ref_not_text' : undefined
}

/** Whether the value at the position `at` of the parameters must be a text. */
const takesText = (tool: Tool, at: readonly string[]): boolean =>
  tool.takesText?.(at) ?? (at.length === 1 && tool.parameters.find(({ name }) => name === at[0])?.type === 'string')

/** The value that replaces a reference. If the content is JSON, it is parsed, except for a parameter that must be a text. */
function toParamValue(content: ReferenceContent, isText: boolean): unknown {
  if (content.kind === 'rows') return isText ? JSON.stringify(content.rows) : content.rows
  if (content.kind === 'bytes') return content.bytes
  return content.json && !isText ? parseJson(content.text) : content.text
}

/**
 * Whether the reference is the whole parameter `content` of `react.write`. In this case the bytes of the file are copied. Parsing JSON and
 * writing it again would change its spacing and long numbers.
 */
const isCopy = (toolId: string, at: readonly string[]) => toolId === 'react.write' && at.length === 1 && at[0] === 'content'

/** The value that `react.write` gets for a copy: the bytes of a file, the text of a block, or the rows of sources. */
const toCopy = (content: ReferenceContent): unknown =>
  content.kind === 'rows' ? content.rows : (content.bytes ?? (content.kind === 'text' ? content.text : undefined))

/**
 * For a reference whose content was not found: the path of a visible artifact with the same file name. It is suggested to the model,
 * because the model often writes the right file name but the wrong turn.
 */
function findSimilarPath(address: string, timeline: Timeline): string | undefined {
  const name = address.split('/').at(-1) ?? ''
  if (name === '' || !address.includes('/')) return undefined
  for (const [path, positions] of blockIndex(timeline.buffer).byArtifact) {
    if (path.endsWith(`/${name}`) && (positions[0] ?? timeline.size) < timeline.size) return `ref:${path}`
  }
  return undefined
}

const advice: { readonly [P in ReferenceProblem]: string } = {
  ref_not_visible: 'is not visible now: bring it back with react.read, then call again',
  ref_other_conversation: 'belongs to another conversation, which can not be reached from here: give the content itself',
  ref_internal_not_visible: 'is internal: write its content again as an external artifact and refer to that',
  fi_ref_not_materialized: 'is not in the workspace: react.pull it first, then call again',
  workspace_version_unavailable: 'can not be reached now: try again later, or go on without it',
  refs_too_large: 'makes it more than 32 MiB that the call refers to: refer to less at once',
  ref_file_unsafe: 'is a link, a special file or too large: refer to a regular file',
  sources_list_requires_so_ref: 'is no source: give ref:so:sources_pool[…]',
  renderer_content_ref_not_text: 'is not text: the content of a document must be',
  ref_not_text: 'is not text, and this parameter takes text: refer to a text',
}

const maxListed = 20

function notVisibleViolation(toolId: string, all: readonly UnboundReference[]): Notice {
  const unbound = all.slice(0, maxListed)
  const problems = unbound.map(
    ({ param, ref, code, suggested_ref }) => `${param}: ${ref} ${advice[code]}${suggested_ref ? ` (did you mean ${suggested_ref}?)` : ''}`,
  )
  return violation('param_ref_not_visible', {
    problem: `The call of "${toolId}" refers to what it cannot have. ${problems.join('; ')}${all.length > maxListed ? `; and ${all.length - maxListed} more` : ''}.`,
    next: 'Send the call again with references that can be bound, or with the content itself.',
    extra: { tool_id: toolId, violations: unbound },
  })
}

const normalizedWarning = (original: string, path: string): Notice =>
  warning('ref_path_normalized', `${original} was read as ${path}. Use the logical path.`, { original, normalized: path })

const missingSourcesWarning = (sids: readonly number[]): Notice => ({
  code: 'tool_call_warning.missing_sources',
  message: `No source has the number ${sids.join(', ')}; the call went ahead without.`,
  missing_sids: sids,
})
