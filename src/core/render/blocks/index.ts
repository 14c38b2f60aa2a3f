import type { Block, BlockType } from '../../block/index.ts'
import { isBlockType, readDigest } from '../../block/index.ts'
import { toPhysical } from '../../path/physical.ts'
import { unsafeReason } from '../../path/safety.ts'
import { scrubBase64 } from '../redact.ts'
import { preview } from '../shorten.ts'
import { clip, joinLines, oneLine, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'
import { binaryParts } from './attachment.ts'
import { renderNotice, renderSummary } from './notes.ts'
import { renderPlan } from './plan.ts'
import { renderToolCall, renderToolCode } from './tool-call.ts'
import { renderToolResult } from './tool-result.ts'

type BlockRenderer = (block: Block, context: RenderContext) => readonly Part[]

/** One entry per block type; a new block type does not compile until it can be shown to the model. */
export const blockRenderers: { readonly [T in BlockType]: BlockRenderer } = {
  'turn.header': (block, { caps }) => [
    textPart(`[TURN ${oneLine(block.turn_id, caps.id)}]${block.ts === '' ? '' : ` ts=${oneLine(block.ts, caps.id)}`}`),
  ],
  'user.prompt': withHeading('[USER MESSAGE]', 'userText'),
  'user.attachment.meta': renderAttachment,
  'user.attachment': binaryParts,
  'user.attachment.text': withHeading('[USER ATTACHMENT TEXT]', 'attachmentText'),
  'user.followup': withHeading('[FOLLOWUP DURING TURN]', 'userText'),
  'user.followup.preserved': withHeading('[FOLLOWUP DURING TURN]', 'userText'),
  'user.steer': withHeading('[STEER DURING TURN]', 'userText'),
  'user.steer.preserved': withHeading('[STEER DURING TURN]', 'userText'),
  'stage.gate': verbatim('stageText'),
  'stage.react': verbatim('stageText'),
  'stage.coordinator': verbatim('stageText'),
  'stage.feedback': verbatim('stageText'),
  'stage.clarification': verbatim('stageText'),
  'stage.clarification.resolved': verbatim('stageText'),
  'stage.suggested_followups': renderNothing, // for the user
  'react.thinking': renderNothing, // for the user and the log
  'react.decision.raw': renderInterrupted,
  'react.notes': (block, { caps }) => unlessBlank(block, (text) => `[AI Agent say]: ${clip(text, caps.notes, pathOf(block, caps.path))}`),
  'react.tool.code': renderToolCode,
  'react.tool.call': renderToolCall,
  'react.tool.result': renderToolResult,
  'react.notice': renderNotice,
  'react.note': renderNote,
  'react.note.preserved': renderNote,
  'react.plan': renderPlan,
  'react.plan.ack': verbatim('stageText'),
  'react.plan.history': verbatim('planHistory'),
  'react.plan.preserved': renderNothing, // keeps `ar:plan.latest:` readable; the history lists it
  'react.completion': renderNothing, // the completion itself is `assistant.completion`
  'react.current_turn.compaction_checkpoint': verbatim('checkpoint'),
  'react.workspace.checkout': renderNothing, // announced
  'react.workspace.publish': renderNothing, // announced
  'assistant.completion': renderCompletion,
  'assistant.completion.attempt': withHeading('[ASSISTANT MESSAGE, NOT YET FINAL]', 'completion'),
  'assistant.completion.attempt.outcome': verbatim('stageText'),
  'agent.log.header': verbatim('stageText'),
  'conv.range.summary': renderSummary,
  'conv.working.summary': withHeading('[WORKING SUMMARY]', 'stageText'),
  'event.external': withHeading('[EXTERNAL EVENT]', 'stageText'),
  'turn.feedback': renderFeedback,
  'system.message': (block, { caps }) => unlessBlank(block, (text) => `[SYSTEM MESSAGE]\n${clip(text, caps.systemMessage)}`),
}

/** Whatever a block of this type says. Types that nobody knows are kept for whoever wrote them. */
export const isNeverShown = (type: string): boolean => !isBlockType(type) || blockRenderers[type] === renderNothing

type TextCap = 'userText' | 'attachmentText' | 'stageText' | 'completion' | 'planHistory' | 'checkpoint'

const pathOf = ({ path }: Block, limit: number) => (path === undefined ? undefined : oneLine(path, limit))
const pathLine = (block: Block, limit: number) => (block.path === undefined ? undefined : `[path: ${oneLine(block.path, limit)}]`)

function renderNothing(): readonly Part[] {
  return []
}

/** A block that has nothing to say shows nothing. */
function unlessBlank(block: Block, shown: (text: string) => string): readonly Part[] {
  const text = scrubBase64(block.text ?? '')
  return text.trim() === '' ? [] : [textPart(shown(text))]
}

function verbatim(cap: TextCap): BlockRenderer {
  return (block, { caps }) => unlessBlank(block, (text) => clip(text, caps[cap], pathOf(block, caps.path)))
}

/** A heading, the address, the words. Shown even when the words are none: that someone sent nothing is worth knowing. */
function withHeading(heading: string, cap: TextCap): BlockRenderer {
  return (block, { caps }) => {
    const text = clip(scrubBase64(block.text ?? ''), caps[cap], pathOf(block, caps.path))
    return [textPart(joinLines(heading, pathLine(block, caps.path), text))]
  }
}

function renderAttachment(block: Block, { caps }: RenderContext): readonly Part[] {
  const digest = readDigest(block)
  const text = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : undefined)
  const path = block.path ?? digest?.artifact_path ?? ''
  const physical = text(digest?.physical_path) ?? toPhysical(path)
  const name = fileName(text(block.meta?.filename) ?? text(digest?.filename) ?? path)
  const summary = text(block.meta?.summary) ?? text(digest?.summary) ?? digest?.description
  return [
    textPart(
      joinLines(
        `[USER ATTACHMENT] ${oneLine(name, caps.name)} | ${oneLine(digest?.mime ?? text(block.meta?.mime) ?? 'unknown type', caps.mime)}`,
        summary === undefined ? undefined : `summary: ${clip(scrubBase64(summary), caps.attachmentSummary)}`,
        `[path: ${oneLine(path, caps.path)}]`,
        physical === undefined || unsafeReason(physical) !== undefined ? undefined : `[physical_path: ${physical}]`,
      ),
    ),
  ]
}

/** Some clients send the whole path a file had on its owner's disk. */
const fileName = (path: string) => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)

/** Only what a user cut short; other raw responses are for whoever debugs. */
function renderInterrupted(block: Block, context: RenderContext): readonly Part[] {
  return block.meta?.interrupted === true ? withHeading('[YOUR RESPONSE, INTERRUPTED BY THE USER]', 'stageText')(block, context) : []
}

function renderNote(block: Block, { caps }: RenderContext): readonly Part[] {
  return unlessBlank(
    block,
    (text) => `[INTERNAL NOTE]\n${preview({ what: 'INTERNAL NOTE', text, limit: caps.note, path: pathOf(block, caps.path) }, caps)}`,
  )
}

function renderCompletion(block: Block, { caps }: RenderContext): readonly Part[] {
  const { completion_index: index, completion_count: count } = block.meta ?? {}
  const sids = block.meta?.sources_used?.filter((sid) => Number.isSafeInteger(sid)) ?? []
  const more = sids.length > caps.sourcesUsed ? ',…' : ''
  return [
    textPart(
      joinLines(
        '[ASSISTANT MESSAGE]',
        pathLine(block, caps.path),
        typeof index === 'number' && typeof count === 'number' && count > 1 ? `[completion: ${index}/${count}]` : undefined,
        sids.length === 0 ? undefined : `[sources_used: [${sids.slice(0, caps.sourcesUsed).join(',')}${more}]]`,
        clip(scrubBase64(block.text ?? ''), caps.completion, pathOf(block, caps.path)),
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
        text.trim() === '' ? undefined : clip(text, caps.feedback, pathOf(block, caps.path)),
      ),
    ),
  ]
}
