import { type Block, blockNumber } from '../block/index.ts'
import { cutBetween } from '../cut.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'

/** The kinds of texts that a memory search can search. */
export const memoryTargets = ['assistant', 'user', 'attachment', 'summary', 'notes'] as const
/** One kind of text that a memory search can search. */
export type MemoryTarget = (typeof memoryTargets)[number]

/** A text that a memory search can find. Long texts give several snippets. */
export interface Snippet {
  /** The number of the block. `block` and `part` together identify the snippet in its conversation. */
  readonly block: number
  /** The number of the snippet among the snippets of its block, from 0. */
  readonly part: number
  readonly turnId: string
  readonly role: MemoryTarget
  readonly ts: string
  /** The path with which `react.read` opens the whole text. */
  readonly path: string
  readonly text: string
}

const roles: ReadonlyMap<string, MemoryTarget> = new Map<Block['type'], MemoryTarget>([
  ['user.prompt', 'user'],
  ['user.followup', 'user'],
  ['user.steer', 'user'],
  ['assistant.completion', 'assistant'],
  ['user.attachment.meta', 'attachment'],
  ['conv.range.summary', 'summary'],
  ['conv.working.summary', 'summary'],
  ['react.note', 'notes'],
])

const noSnippets: readonly Snippet[] = []

/** The snippets of a change. Most changes have none. */
export function snippetsOf(change: Change): readonly Snippet[] {
  const blocks = blocksOfChange(change)
  if (!blocks.some(({ type }) => roles.has(type))) return noSnippets
  return blocks.flatMap(snippetsOfBlock)
}

function snippetsOfBlock(block: Block): readonly Snippet[] {
  const role = roles.get(block.type)
  const number = blockNumber(block.id)
  const { turn_id: turnId, ts, path } = block
  const text = role === 'attachment' ? attachmentText(block) : block.text
  if (role === undefined || number === undefined || path === undefined || text === undefined || text.trim() === '') return noSnippets
  return splitText(text).map((part, index) => ({ block: number, part: index, turnId, role, ts, path, text: part }))
}

/** The name of an attached file, its type and its summary. The bytes of files are not searched. */
function attachmentText({ meta = {} }: Block): string {
  return [meta.filename, meta.summary, meta.mime].filter((part) => typeof part === 'string').join('\n')
}

const PART_LENGTH = 1_600
/** The greatest number of snippets of one text. A search does not find the rest of a longer text. */
const MAX_PARTS = 64

/** Splits a long text at the ends of paragraphs, lines or words. */
function splitText(text: string): readonly string[] {
  if (text.length <= PART_LENGTH) return [text]
  const parts: string[] = []
  for (let from = 0; from < text.length && parts.length < MAX_PARTS; ) {
    const to = from + PART_LENGTH >= text.length ? text.length : endOfPart(text, from)
    const part = cutBetween(text, from, to)
    if (part.trim() !== '') parts.push(part)
    from = to
  }
  return parts
}

function endOfPart(text: string, from: number): number {
  const latest = from + PART_LENGTH
  for (const mark of ['\n\n', '\n', ' ']) {
    const at = text.lastIndexOf(mark, latest)
    if (at > from + PART_LENGTH / 2) return at + mark.length
  }
  return latest
}

/** Facts about a turn that are taken from one change. A memory search uses a list of all turns with these facts. */
export interface TurnFact {
  readonly turnId: string
  /** Whether the turn searched the memory. */
  readonly searched: boolean
  /** Whether the turn used a tool that does more than look something up. */
  readonly worked: boolean
}

const lookups: ReadonlySet<string> = new Set(
  ['memsearch', 'read', 'search_files', 'search_knowledge', 'pull', 'checkout', 'plan', 'hide'].map((name) => `react.${name}`),
)

const noFacts: readonly TurnFact[] = []

/** The facts about turns in a change: one for a turn that it opens, or one for each tool call and each searchable block in it. */
export function turnFactsOf(change: Change): readonly TurnFact[] {
  if (change.type === 'turn.opened') return [{ turnId: change.turn_id, searched: false, worked: false }]
  const blocks = blocksOfChange(change).filter(({ type }) => type === 'react.tool.call' || roles.has(type))
  if (blocks.length === 0) return noFacts
  return blocks.map(({ turn_id: turnId, type, tool_id: toolId = '' }) => {
    const isCall = type === 'react.tool.call'
    return { turnId, searched: isCall && toolId === 'react.memsearch', worked: isCall && !lookups.has(toolId) }
  })
}
