import { type Block, callOf, isHidden, readToolCall } from '../../core/block/index.ts'
import { caps } from '../../core/render/caps.ts'
import { blocksAtPath, blocksOfCall, type Timeline } from '../../core/timeline/timeline.ts'
import type { PathContent } from './find.ts'

/** The block that already shows all of this to the model, if one does. Skills are known by their path alone. */
export function findVisibleCopy(timeline: Timeline, found: PathContent): Block | undefined {
  if (found.kind === 'missing') return undefined
  return blocksAtPath(timeline, found.path).findLast(
    (block) => !isHidden(block) && (found.kind === 'text' && found.label === 'skill' ? true : isSameContent(block, found, timeline)),
  )
}

function isSameContent(block: Block, found: Exclude<PathContent, { kind: 'missing' }>, timeline: Timeline): boolean {
  if (found.kind === 'text' && found.from)
    return block.text === found.text && block.meta?.keeps?.[0]?.sha256 === found.from.sha256 && isFromRead(block, timeline)
  if (found.kind === 'text') return block.text === found.text && block.meta?.partial !== true && isShownWhole(block, timeline)
  if (found.kind === 'binary') return block.blob?.sha256 === found.blob.sha256 && isAttached(block, timeline)
  return block.text === undefined && isFromRead(block, timeline)
}

/** Longer results are shown by their beginning, unless somebody asked to read them. */
const isShownWhole = (block: Block, timeline: Timeline) =>
  block.type !== 'react.tool.result' || (block.text?.length ?? 0) <= caps.toolResult || isFromRead(block, timeline)

/** A PDF that a tool made is shown only when it is read. */
const isAttached = (block: Block, timeline: Timeline) =>
  block.type !== 'react.tool.result' || block.mime?.startsWith('image/') === true || isFromRead(block, timeline)

function isFromRead(block: Block, timeline: Timeline): boolean {
  const callId = callOf(block)
  const call = callId === undefined ? undefined : blocksOfCall(timeline, callId).find(readToolCall)
  return call !== undefined && readToolCall(call)?.tool_id === 'react.read'
}
