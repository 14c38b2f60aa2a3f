import { type Block, type BlockType, callIdOf, type Meta } from '../block/block.ts'
import { type Digest, isResultMetadata, readDigest, readNotice, readToolCall, type ToolCall } from '../block/round.ts'
import { hasPublicContract } from '../contract/contract.ts'
import { isObject, parseJson } from '../json.ts'
import { toolPath } from '../path/build.ts'

/** Optional content that users may see in addition to messages, tool calls and answers. Operators see everything. */
export interface UserView {
  /** Whether users see what the model thinks. */
  readonly thinking: 'shown' | 'withheld'
}

/**
 * For each block type, the rule by which users see its blocks. `shown` means that users see every block of this type that is not marked as
 * internal. `withheld` means that users see the content of no block of this type. The function `blockForUser` applies the other rules.
 * Summaries, checkpoints, raw output and records of the workspace are withheld, because only the model reads them and they repeat internal
 * content.
 */
const rules: { readonly [T in BlockType]: 'shown' | 'withheld' | 'thinking' | 'code' | 'call' | 'result' | 'notice' } = {
  'turn.header': 'shown',
  'user.prompt': 'shown',
  'user.attachment.meta': 'shown',
  'user.attachment': 'shown',
  'user.attachment.text': 'shown',
  'user.followup': 'shown',
  'user.followup.preserved': 'shown',
  'user.steer': 'shown',
  'user.steer.preserved': 'shown',
  'stage.gate': 'withheld',
  'stage.react': 'withheld',
  'stage.coordinator': 'withheld',
  'stage.feedback': 'shown',
  'stage.clarification': 'shown',
  'stage.clarification.resolved': 'shown',
  'stage.suggested_followups': 'shown',
  'react.thinking': 'thinking',
  'react.decision.raw': 'withheld',
  'react.notes': 'shown',
  'react.tool.code': 'code',
  'react.tool.call': 'call',
  'react.tool.result': 'result',
  'react.notice': 'notice',
  'react.note': 'withheld',
  'react.note.preserved': 'withheld',
  'react.plan': 'shown',
  'react.plan.ack': 'shown',
  'react.plan.history': 'withheld',
  'react.plan.preserved': 'shown',
  'react.completion': 'withheld',
  'react.current_turn.compaction_checkpoint': 'withheld',
  'react.workspace.checkout': 'withheld',
  'react.workspace.publish': 'withheld',
  'assistant.completion': 'shown',
  'assistant.completion.attempt': 'shown',
  'assistant.completion.attempt.outcome': 'withheld',
  'agent.log.header': 'withheld',
  'conv.range.summary': 'withheld',
  'conv.working.summary': 'withheld',
  'event.external': 'shown',
  'turn.feedback': 'shown',
  'system.message': 'withheld',
}

/**
 * The blocks as a user may see them: the same number of blocks, with the same ids and types, and without internal content. `blocks` are the
 * blocks of one entry, of a turn or of a whole timeline. Other blocks of the conversation are not needed, because each internal block is
 * marked when it is made. When nothing is withheld, the result is `blocks` itself.
 */
export function blocksForUser(blocks: readonly Block[], view: UserView): readonly Block[] {
  const calls = readCalls(blocks)
  const shown = blocks.map((block) => blockForUser(block, calls.get(callIdOf(block) ?? ''), view))
  return shown.every((block, index) => block === blocks[index]) ? blocks : shown
}

function blockForUser(block: Block, call: CallFacts | undefined, view: UserView): Block {
  const rule = Object.hasOwn(rules, block.type) ? rules[block.type] : 'withheld' // imported blocks may have any type
  if (rule === 'thinking' && view.thinking === 'withheld') return withheld(block, 'thinking')
  if (rule === 'call') return isMarkedInternal(block) || !call?.hasPublicParams ? withheldCall(block) : withoutReplacement(block)
  if (rule === 'notice') return withheldNotice(block)
  const isShown =
    !isMarkedInternal(block) &&
    (rule === 'shown' ||
      rule === 'thinking' ||
      (rule === 'code' && call?.hasPublicParams === true) ||
      (rule === 'result' && isPublicResult(block, call)))
  return isShown ? withoutReplacement(block) : withheld(block, 'internal')
}

/** What a list of blocks says about a tool call. */
interface CallFacts {
  readonly toolId: string | undefined
  /** Whether users may see the parameters and the program. False when the call itself is not in the list. */
  readonly hasPublicParams: boolean
  /** Whether the call made an internal file or note. Its output may then describe internal content. */
  readonly madeInternal: boolean
  /** The paths of the files that the call made for users. */
  readonly publicPaths: ReadonlySet<string>
}

const noCalls: ReadonlyMap<string, CallFacts> = new Map()

function readCalls(blocks: readonly Block[]): ReadonlyMap<string, CallFacts> {
  const ofCalls = new Map<string, Block[]>()
  for (const block of blocks) {
    const callId = rules[block.type] === 'shown' ? undefined : callIdOf(block)
    if (callId === undefined) continue
    const known = ofCalls.get(callId)
    if (known) known.push(block)
    else ofCalls.set(callId, [block])
  }
  if (ofCalls.size === 0) return noCalls
  return new Map([...ofCalls].map(([callId, own]) => [callId, readCall(own)]))
}

function readCall(blocks: readonly Block[]): CallFacts {
  const block = blocks.find(({ type }) => type === 'react.tool.call')
  const call = block && readToolCall(block)
  const hasCode = blocks.some(({ type }) => type === 'react.tool.code')
  const publicPaths = new Set(blocks.flatMap((content) => (isPublicContent(content) && content.path !== undefined ? [content.path] : [])))
  return {
    toolId: call?.tool_id ?? blocks.map(toolIdOf).find((toolId) => toolId !== undefined),
    hasPublicParams: block !== undefined && call !== undefined && hasPublicParams(block, call, hasCode),
    madeInternal: blocks.some((each) => isInternalArtifact(each, publicPaths)),
    publicPaths,
  }
}

const toolIdOf = (block: Block): string | undefined => block.tool_id ?? block.meta?.tool_id ?? readDigest(block)?.tool_id

/**
 * Whether users may see the parameters of a call. Calls of the built-in tools often name internal files or repeat their content. Therefore
 * the parameters of a built-in tool are public only for calls that show something to the user.
 */
function hasPublicParams(block: Block, { tool_id: toolId, params }: ToolCall, hasCode: boolean): boolean {
  if (toolId === 'react.plan') return true
  if (toolId === 'react.write') return isPublicChannel(params.channel)
  // A patch repeats lines of its file. The call says whether the file is for users.
  if (toolId === 'react.patch') return isPublicChannel(params.channel) && block.meta?.visibility === 'external'
  return !toolId.startsWith('react.') && hasPublicContract(params.contract, hasCode)
}

const isPublicChannel = (channel: unknown): boolean =>
  channel === undefined || channel === null || channel === 'canvas' || channel === 'timeline_text'

/** Whether the block holds the content of a file that is for users. */
const isPublicContent = (block: Block): boolean =>
  block.type === 'react.tool.result' &&
  !isOwnOutput(block) &&
  !isMarkedInternal(block) &&
  (block.meta?.visibility ?? digestOfContent(block)?.visibility) === 'external'

/**
 * Whether the block is an internal note, or the content or digest of an internal file. The digest of a patch may be marked as internal
 * although the file is for users. Therefore the result is false for a digest whose path is in `publicPaths`.
 */
function isInternalArtifact(block: Block, publicPaths: ReadonlySet<string>): boolean {
  if (block.type === 'react.note') return true
  if (block.type !== 'react.tool.result' || isResultMetadata(block)) return false
  const digest = readArtifactDigest(block)
  if (digest) return digest.channel === 'internal' || (digest.visibility === 'internal' && !publicPaths.has(digest.artifact_path))
  return !isOwnOutput(block) && isMarkedInternal(block)
}

function isPublicResult(block: Block, call: CallFacts | undefined): boolean {
  if (!isOwnOutput(block)) return isPublicContent(block)
  const digest = readArtifactDigest(block)
  if (digest)
    return digest.channel !== 'internal' && (digest.visibility === 'external' || call?.publicPaths.has(digest.artifact_path) === true)
  if (call?.madeInternal) return false
  if (block.meta?.visibility === 'external' || isResultMetadata(block)) return true
  // Journals of older versions do not say whether an output is internal. If the tool is not known, it may be a built-in tool, so its output
  // is withheld.
  return call?.toolId !== undefined && !call.toolId.startsWith('react.')
}

/**
 * The digest in a metadata block of an artifact. A block with a visibility in its `meta` is the output of a tool. It is never read as a
 * digest, even if the tool wrote it in the form of a digest.
 */
const readArtifactDigest = (block: Block): Digest | undefined =>
  block.meta?.visibility !== undefined || isResultMetadata(block) ? undefined : readDigest(block)

/**
 * Whether the block is the output of its own call. `react.read` also makes blocks with the paths of the content that it has read. These are
 * not its own output.
 */
function isOwnOutput(block: Block): boolean {
  const callId = callIdOf(block)
  return callId !== undefined && block.path === toolPath(block.turn_id, callId, 'result')
}

function isMarkedInternal(block: Block): boolean {
  const { meta } = block
  if (meta === undefined) return false
  return meta.visibility === 'internal' || meta.channel === 'internal' || digestOfContent(block)?.channel === 'internal'
}

/** The digest in the `meta` of a content block. */
function digestOfContent({ meta }: Block): Partial<Digest> | undefined {
  const digest = meta?.digest === undefined ? undefined : parseJson(meta.digest)
  return isObject(digest) ? digest : undefined
}

/** The fields of `meta` that contain no content. Clients need them, for example to find the call of a block. */
const plainMeta = ['tool_call_id', 'iteration', 'tool_id', 'rel', 'render_role', 'hidden', 'hidden_reason', 'hidden_scope'] as const

/** The block without its content. `meta.withheld` says why the content is missing. */
function withheld(block: Block, why: 'internal' | 'thinking', text = withheldText(block)): Block {
  const { id, type, author, turn_id, ts, call_id, tool_id, path, meta } = block
  const kept = plainMeta.filter((key) => meta?.[key] !== undefined).map((key) => [key, meta?.[key]])
  return {
    id,
    type,
    author,
    turn_id,
    ts,
    ...(call_id !== undefined && { call_id }),
    ...(tool_id !== undefined && { tool_id }),
    ...(path !== undefined && isOwnOutput(block) && { path }), // any other path could name an internal file
    text,
    meta: { ...(Object.fromEntries(kept) as Meta), withheld: why },
  }
}

/** The text of a withheld block. It is empty, except for a failed call: users see that the call failed. */
function withheldText({ type, text, meta }: Block): string {
  if (type === 'react.tool.result' && isObject(meta?.exec_report) && meta.exec_report.status === 'error') return '{"ok":false}'
  if (type !== 'react.tool.result' || !text?.includes('false')) return ''
  const output = parseJson(text)
  return isObject(output) && output.ok === false ? '{"ok":false}' : ''
}

function withheldCall(block: Block): Block {
  const call = readToolCall(block)
  if (!call) return withheld(block, 'internal')
  const { tool_id, tool_call_id, ts } = call
  return withheld(block, 'internal', JSON.stringify({ tool_id, tool_call_id, params: {}, ...(ts !== undefined && { ts }) }))
}

/** A notice with its code only: its message is for the model and may quote parameters, paths and output. */
function withheldNotice(block: Block): Block {
  const notice = readNotice(block)
  return withheld(block, 'internal', notice ? JSON.stringify({ code: notice.code, message: '' }) : '')
}

/** A hidden block keeps its content. Only the text that replaces it in the prompt is removed, because the agent wrote it for itself. */
function withoutReplacement(block: Block): Block {
  if (block.meta?.replacement_text === undefined) return block
  const { replacement_text: _text, ...meta } = block.meta
  return { ...block, meta }
}
