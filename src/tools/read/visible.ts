import { type Block, type BlockType, callIdOf, type Draft, isHidden, readToolCall } from '../../core/block/index.ts'
import { positionsAt } from '../../core/hide/hide.ts'
import { planReveal, type RevealPlan } from '../../core/hide/reveal.ts'
import { parseJson } from '../../core/json.ts'
import { shownTypes } from '../../core/render/blocks/index.ts'
import { rowSids } from '../../core/render/blocks/tool-result.ts'
import { type Caps, caps } from '../../core/render/caps.ts'
import { blocksOfCall, type Timeline } from '../../core/timeline/timeline.ts'
import type { Call } from '../tool.ts'

// Before `react.read` appends a block, it looks for a block that already shows the same bytes, or the same text in the same form.

/**
 * The visible block that already shows the content of `draft`. If `byPath` is true, any visible block with the path of `draft` is returned,
 * whatever its content is.
 */
export function findVisibleCopy(draft: Draft, byPath: boolean, { timeline, visiblePrompt }: Call): Block | undefined {
  const { shown } = visiblePrompt.slice()
  const position = positionsAt({ shown }, draft.path ?? '').findLast((at) => {
    const { block, parts } = shown[at] ?? {}
    if (!block || isHidden(block)) return false
    if (byPath) return true
    if (draft.blob) return isSameFile(block, draft) && parts?.some(({ type }) => type !== 'text') === true
    return isSameText(block, draft, timeline)
  })
  return position === undefined ? undefined : shown[position]?.block
}

/**
 * Plans to make a hidden block with the content of `draft` visible again. Undefined when there is no such block. Also undefined when the
 * block is in the cached part of the prompt, because revealing it would invalidate the cached prompt.
 */
export function planRevealOf(draft: Draft, { timeline, visiblePrompt }: Call): RevealPlan | undefined {
  const isCurrent = (block: Block) =>
    shownTypes.has(block.type) &&
    (draft.blob ? isSameFile(block, draft) && isAttached(block, timeline) : isSameText(block, draft, timeline))
  return planReveal(timeline, visiblePrompt.slice(), visiblePrompt.points(), draft.path ?? '', isCurrent)
}

const isSameFile = (block: Block, { blob }: Draft) => blob !== undefined && block.blob?.sha256 === blob.sha256

const isSameText = (block: Block, { text }: Draft, timeline: Timeline) =>
  text !== undefined && block.text === text && isShownWhole(block, text, timeline)

/**
 * Whether the prompt shows the whole text of a block. The result is always true for the result of an earlier `react.read`. Both reads cut
 * the text at the same limits, so if the texts are equal, the model sees the same part.
 */
function isShownWhole(block: Block, text: string, timeline: Timeline): boolean {
  if (block.type !== 'react.tool.result') return text.length <= caps[textCaps[block.type] ?? 'stageText']
  if (text.length <= caps.toolResult || isFromRead(block, timeline)) return true
  return text.length <= caps.sourceRows && rowSids(parseJson(text)).length > 0
}

/**
 * For each block type, the name of the limit in `caps` that says how many characters of the block the prompt shows. All other types have
 * the limit `stageText`.
 */
const textCaps: { readonly [T in BlockType]?: keyof Caps } = {
  'user.prompt': 'userText',
  'user.followup': 'userText',
  'user.followup.preserved': 'userText',
  'user.steer': 'userText',
  'user.steer.preserved': 'userText',
  'user.attachment.text': 'attachmentText',
  'assistant.completion': 'completion',
  'assistant.completion.attempt': 'completion',
  'react.current_turn.compaction_checkpoint': 'checkpoint',
  'react.plan.history': 'planHistory',
  'react.note': 'note',
  'react.note.preserved': 'note',
  'react.notice': 'noticeMessage',
  'turn.feedback': 'feedback',
  'system.message': 'systemMessage',
}

/**
 * Whether the bytes of a block are sent to the model. A PDF that a tool made is sent only if `react.read` read it or the tool set
 * `attach_to_model`.
 */
const isAttached = (block: Block, timeline: Timeline) =>
  block.type !== 'react.tool.result' ||
  block.mime?.startsWith('image/') === true ||
  block.meta?.attach_to_model === true ||
  isFromRead(block, timeline)

function isFromRead(block: Block, timeline: Timeline): boolean {
  const callId = callIdOf(block)
  const call = callId === undefined ? undefined : blocksOfCall(timeline, callId).find(readToolCall)
  return call !== undefined && readToolCall(call)?.tool_id === 'react.read'
}
