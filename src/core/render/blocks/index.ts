import { type Block, type BlockType, blockTypes } from '../../block/index.ts'
import type { Caps } from '../caps.ts'
import { clip, joinLines, oneLine, scrubBase64, shownPath, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'
import { binaryParts, renderAttachmentMeta } from './attachment.ts'
import { renderNote, renderNotice, renderPublish, renderSummary, renderText } from './notes.ts'
import { renderPlan } from './plan.ts'
import { renderToolCall, renderToolCode } from './tool-call.ts'
import { renderToolResult } from './tool-result.ts'

type BlockRenderer = (block: Block, context: RenderContext) => readonly Part[]

/** The renderer of each block type. The compiler reports a block type without an entry. */
export const blockRenderers: { readonly [T in BlockType]: BlockRenderer } = {
  'turn.header': (block, { caps }) => [
    textPart(`[TURN ${oneLine(block.turn_id, caps.id)}]${block.ts === '' ? '' : ` ts=${oneLine(block.ts, caps.id)}`}`),
  ],
  'user.prompt': withHeading('[USER MESSAGE]', 'userText'),
  'user.attachment.meta': renderAttachmentMeta,
  'user.attachment': binaryParts,
  'user.attachment.text': withHeading('[USER ATTACHMENT TEXT]', 'attachmentText'),
  'user.followup': withHeading('[FOLLOWUP DURING TURN]', 'userText'),
  'user.followup.preserved': withHeading('[FOLLOWUP DURING TURN]', 'userText'),
  'user.steer': withHeading('[STEER DURING TURN]', 'userText'),
  'user.steer.preserved': withHeading('[STEER DURING TURN]', 'userText'),
  'stage.gate': renderStage,
  'stage.react': renderStage,
  'stage.coordinator': renderStage,
  'stage.feedback': renderStage,
  'stage.clarification': renderStage,
  'stage.clarification.resolved': renderStage,
  'stage.suggested_followups': renderNothing, // only the user sees these suggestions
  'react.thinking': renderNothing, // the thinking is only for the user and the turn log
  'react.decision.raw': renderInterrupted,
  'react.notes': (block, { caps }) => renderText(block, (text) => `[AI Agent say]: ${clip(text, caps.notes, shownPath(block, caps))}`),
  'react.tool.code': renderToolCode,
  'react.tool.call': renderToolCall,
  'react.tool.result': renderToolResult,
  'react.notice': renderNotice,
  'react.note': renderNote,
  'react.note.preserved': renderNote,
  'react.plan': renderPlan,
  'react.plan.ack': verbatim('stageText'),
  'react.plan.history': verbatim('planHistory', '[COMPACTED PLAN HISTORY]'),
  'react.plan.preserved': renderNothing, // `react.read` finds the plan in this block, but the prompt shows the plan in `react.plan.history`
  'react.completion': renderNothing, // `assistant.completion` shows the answer
  'react.current_turn.compaction_checkpoint': verbatim('checkpoint', '[MID-TURN COMPACTION '),
  'react.workspace.checkout': renderNothing, // the announce shows what is checked out
  'react.workspace.publish': renderPublish,
  'assistant.completion': renderCompletion,
  'assistant.completion.attempt': withHeading('[ASSISTANT MESSAGE, NOT YET FINAL]', 'completion'),
  'assistant.completion.attempt.outcome': verbatim('stageText'),
  'agent.log.header': verbatim('stageText'),
  'conv.range.summary': renderSummary,
  'conv.working.summary': withHeading('[WORKING SUMMARY]', 'stageText'),
  'event.external': withHeading('[EXTERNAL EVENT]', 'stageText'),
  'turn.feedback': renderFeedback,
  'system.message': (block, { caps }) => renderText(block, (text) => `[SYSTEM MESSAGE]\n${clip(text, caps.systemMessage)}`),
}

/** The types whose blocks may appear in a prompt. A block of an unknown type, for example in an imported timeline, is not shown. */
export const shownTypes: ReadonlySet<BlockType> = new Set(blockTypes.filter((type) => blockRenderers[type] !== renderNothing))

type TextCap = 'userText' | 'attachmentText' | 'stageText' | 'completion' | 'planHistory' | 'checkpoint'

const pathLine = (block: Block, limits: Caps) => (block.path === undefined ? undefined : `[path: ${oneLine(block.path, limits.path)}]`)

function renderNothing(): readonly Part[] {
  return []
}

/**
 * Renders the text of a block and adds no heading. A blank text renders to no parts. Some texts begin with a heading that the runtime
 * wrote, such as `[STAGE: gate]`, and may end with `[/STAGE: gate]`. `heading` is the beginning of such a heading. These two lines are
 * shown unchanged. The runtime may not have written the lines between them, so `clip` puts a backslash before each of them that imitates a
 * heading.
 */
function verbatim(cap: TextCap, heading?: string): BlockRenderer {
  return (block, { caps }) =>
    renderText(block, (text) => {
      const path = shownPath(block, caps)
      if (heading === undefined || !text.startsWith(heading)) return clip(text, caps[cap], path)
      const own = oneLine(text.split('\n', 1)[0] ?? '', caps.labels)
      const last = `\n[/${own.slice(1)}`
      const end = text.endsWith(last) && text.length <= caps[cap] ? text.length - last.length : text.length
      return own + clip(text.slice(own.length, end), caps[cap] - own.length, path) + text.slice(end)
    })
}

function renderStage(block: Block, context: RenderContext): readonly Part[] {
  return verbatim('stageText', '[STAGE: ')(block, context)
}

/** Renders a heading, the path and the text. An empty text is shown too, because the model should know that the message was empty. */
function withHeading(heading: string, cap: TextCap): BlockRenderer {
  return (block, { caps }) => {
    const text = clip(scrubBase64(block.text ?? ''), caps[cap], shownPath(block, caps))
    return [textPart(joinLines(heading, pathLine(block, caps), text))]
  }
}

/** Renders a response that the user interrupted. Other `react.decision.raw` blocks are stored only for debugging and render to no parts. */
function renderInterrupted(block: Block, context: RenderContext): readonly Part[] {
  if (block.meta?.interrupted !== true) return []
  const parts = withHeading('[YOUR RESPONSE, INTERRUPTED BY THE USER]', 'stageText')(block, context)
  return parts.map((part) => (part.type === 'text' ? textPart(part.text.replace(guardedTags, '')) : part))
}

/**
 * Matches the backslash that `clip` has put before a channel tag. In an interrupted response, the model itself wrote the tags, so the
 * backslash is removed.
 */
const guardedTags = /^\\(?=<\/?channel:)/gim

function renderCompletion(block: Block, { caps }: RenderContext): readonly Part[] {
  const { completion_index: index, completion_count: count } = block.meta ?? {}
  const sids = block.meta?.sources_used?.filter((sid) => Number.isSafeInteger(sid)) ?? []
  const more = sids.length > caps.sourcesUsed ? ',…' : ''
  return [
    textPart(
      joinLines(
        '[ASSISTANT MESSAGE]',
        pathLine(block, caps),
        typeof index === 'number' && typeof count === 'number' && count > 1 ? `[completion: ${index}/${count}]` : undefined,
        block.meta?.stopped === true ? '[stopped by the user: only this part was shown]' : undefined,
        sids.length === 0 ? undefined : `[sources_used: [${sids.slice(0, caps.sourcesUsed).join(',')}${more}]]`,
        clip(scrubBase64(block.text ?? ''), caps.completion, shownPath(block, caps)),
      ),
    ),
  ]
}

function renderFeedback(block: Block, { caps }: RenderContext): readonly Part[] {
  const { origin, reaction } = block.meta ?? {}
  const heading = origin === undefined ? '[FEEDBACK]' : origin === 'user' ? '[USER FEEDBACK]' : '[AUTO FEEDBACK]'
  const text = scrubBase64(block.text ?? '')
  return [
    textPart(
      joinLines(
        heading,
        `[ts: ${oneLine(block.ts, caps.id)}]`,
        typeof reaction === 'string' ? `reaction: ${oneLine(reaction, caps.id)}` : undefined,
        text.trim() === '' ? undefined : clip(text, caps.feedback, shownPath(block, caps)),
      ),
    ),
  ]
}
