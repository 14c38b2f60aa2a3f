import type { Block } from '../../block/block.ts'
import { type Notice, readNotice } from '../../block/round.ts'
import { publishNotice, readWorkspacePublish } from '../../block/workspace.ts'
import { isObject } from '../../json.ts'
import type { Caps } from '../caps.ts'
import { omitHostingFields } from '../hosting-handles.ts'
import { clip, joinLines, oneLine, preview, scrubBase64, shownPath, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'

/** Removes base64 from the text of a block and passes the text to `draw`. A blank text renders to no parts. */
export function renderText(block: Block, draw: (text: string) => string): readonly Part[] {
  const text = scrubBase64(block.text ?? '')
  return text.trim() === '' ? [] : [textPart(draw(text))]
}

/** Renders `react.note`. A long note is shown as a preview. */
export function renderNote(block: Block, { caps }: RenderContext): readonly Part[] {
  const options = { what: 'INTERNAL NOTE', limit: caps.note, path: shownPath(block, caps) } as const
  return renderText(block, (text) => `[INTERNAL NOTE]\n${preview({ ...options, text }, caps)}`)
}

/** Renders `react.notice`: a message of the runtime to the agent, for example about a rule that the last response broke. */
export function renderNotice(block: Block, { caps }: RenderContext): readonly Part[] {
  const notice = readNotice(block)
  if (!notice) return [textPart(`[REACT NOTICE]\n${clip(scrubBase64(block.text ?? ''), caps.noticeMessage)}`)]
  if (notice.code === 'plan_closed') return [] // the result of the `react.plan` call already tells that the plan was closed
  return noticeParts(notice, caps)
}

/**
 * Renders `react.workspace.publish`: a notice if the publish failed or left files out. Otherwise it renders nothing, because the announce
 * shows the published version.
 */
export function renderPublish(block: Block, { caps }: RenderContext): readonly Part[] {
  const published = readWorkspacePublish(block)
  const notice = published && publishNotice(published)
  return notice ? noticeParts(notice, caps) : []
}

function noticeParts({ code, message, ...rest }: Notice, limits: Caps): readonly Part[] {
  const extra = JSON.stringify(rest, omitHostingFields, 2)
  return [
    textPart(
      joinLines(
        code.startsWith('protocol_violation.') ? '[PROTOCOL VIOLATION]' : '[REACT NOTICE]',
        `code: ${oneLine(code, limits.id)}`,
        message.trim() === '' ? undefined : clip(scrubBase64(message), limits.noticeMessage),
        extra === '{}' ? undefined : clip(scrubBase64(extra), limits.noticeDetails),
      ),
    ),
  ]
}

/** Renders `conv.range.summary`, the block in place of the oldest turns. It names these turns and lists their newest artifacts. */
export function renderSummary(block: Block, { caps, hasTool }: RenderContext): readonly Part[] {
  const { covered_turn_ids: covered, compacted_range_start_ts: start, compacted_range_end_ts: end } = block.meta ?? {}
  const first = block.meta?.conversation_first_message_ts
  const path = shownPath(block, caps)
  return [
    textPart(
      joinLines(
        '[COMPACTED PRIOR CONVERSATION MEMORY]',
        path === undefined ? undefined : `[path: ${path}]`,
        Array.isArray(covered) && covered.length > 0 ? `covered_turns: ${coveredTurns(covered.filter(isText))}` : undefined,
        isText(start) && isText(end) ? `compacted_time_range: ${oneLine(start, 40)} -> ${oneLine(end, 40)}` : undefined,
        isText(first) ? `conversation_first_message_ts: ${oneLine(first, 40)}` : undefined,
        'origin: the runtime folded earlier turns into this summary; nobody said it',
        'use: as memory of what was asked, done and decided; the turns below are newer',
        `recovery: react.read the paths named here${hasTool?.('react.memsearch') ? ', or react.memsearch,' : ''} for exact content`,
        clip(scrubBase64(block.text ?? ''), caps.summary, path),
        ...artifactLines(block.meta?.compaction_digest, shownArtifacts(block, caps), caps),
        '[END COMPACTED PRIOR CONVERSATION MEMORY]',
      ),
    ),
  ]
}

const isText = (value: unknown): value is string => typeof value === 'string'

function coveredTurns(ids: readonly string[]): string {
  const short = ids.map((id) => oneLine(id, 100))
  if (ids.length <= 8) return short.join(', ')
  return `${short.slice(0, 2).join(', ')}, ..., ${short.slice(-2).join(', ')} (count=${ids.length})`
}

/** The number of artifacts that a summary lists. If the context is small, the compaction has stored a lower number in the block. */
function shownArtifacts({ meta }: Block, limits: Caps): number {
  const shown = meta?.shown_artifacts
  return typeof shown === 'number' && shown >= 0 ? Math.min(limits.summaryArtifacts, shown) : limits.summaryArtifacts
}

/** The lines that list the artifacts of a summary, newest first. */
function artifactLines(digest: unknown, count: number, limits: Caps): readonly string[] {
  const entries = isObject(digest) && Array.isArray(digest.artifacts) ? digest.artifacts.filter(isObject) : []
  if (entries.length === 0) return []
  const shown = entries
    .toReversed()
    .slice(0, count)
    .map(({ artifact_path, mime, kind, tool_id }) => {
      const facts = [artifact_path, mime, kind, tool_id].filter((field) => isText(field) && field !== '')
      return oneLine(`- ${facts.join(' | ')}`, limits.path)
    })
  const more = entries.length - shown.length
  return ['artifacts:', ...shown, ...(more > 0 ? [`... ${more} more; this summary's path lists them`] : [])]
}
