import { type Block, blobOf, mimeOf } from '../../block/block.ts'
import { readDigest } from '../../block/round.ts'
import { binaryContentOf } from '../../estimate/estimate.ts'
import { toPhysical } from '../../path/physical.ts'
import { unsafeReason } from '../../path/safety.ts'
import { roundKey } from '../../timeline/timeline.ts'
import type { Caps } from '../caps.ts'
import { clip, joinLines, oneLine, scrubBase64, textPart } from '../text.ts'
import type { BinaryPart, Part, RefusalReason, RenderContext } from '../types.ts'

/** Renders `user.attachment.meta`: the name, type, summary and paths of a file that the user sent. */
export function renderAttachmentMeta(block: Block, { caps }: RenderContext): readonly Part[] {
  const digest = readDigest(block)
  const text = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value : undefined)
  const path = block.path ?? digest?.artifact_path ?? ''
  const physical = text(digest?.physical_path) ?? toPhysical(path)
  const name = fileName(text(block.meta?.filename) ?? text(digest?.filename) ?? path)
  const mime = digest?.mime ?? text(block.meta?.mime) ?? 'unknown type'
  const summary = text(block.meta?.summary) ?? text(digest?.summary) ?? digest?.description
  return [
    textPart(
      joinLines(
        `[USER ATTACHMENT] ${oneLine(name, caps.name)} | ${oneLine(mime, caps.mime)}`,
        summary === undefined ? undefined : `summary: ${clip(scrubBase64(summary), caps.attachmentSummary)}`,
        `[path: ${oneLine(path, caps.path)}]`,
        physical === undefined || unsafeReason(physical) !== undefined ? undefined : `[physical_path: ${physical}]`,
      ),
    ),
  ]
}

/** The last segment of a path. Some clients send the whole path that the file has on the user's disk. */
const fileName = (path: string) => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)

/** The image or document of a block. If it is not sent to the model, the result is a text that says why. */
export function binaryParts(block: Block, { attachment, caps }: RenderContext): readonly Part[] {
  const blob = blobOf(block)
  if (!blob) return []
  if (typeof attachment !== 'number') return [textPart(refusalNote(block, attachment ?? 'media type', caps))]
  const media_type = mimeOf(block)
  const { size: _size, media_type: _type, ...dimensions } = binaryContentOf(block) ?? {}
  const part: BinaryPart = { type: media_type === 'application/pdf' ? 'document' : 'image', media_type, blob, ...dimensions }
  return [block.blob || block.base64 === undefined ? part : { ...part, base64: block.base64 }]
}

function refusalNote(block: Block, reason: RefusalReason, limits: Caps): string {
  const pathIsShown = block.type === 'react.tool.result' || block.path === undefined // the heading of a tool result already shows the path
  return joinLines(
    `[NOT ATTACHED] ${oneLine(mimeOf(block) || 'unknown type', limits.mime)}, ${blobOf(block)?.size ?? 0} bytes`,
    pathIsShown ? undefined : `[path: ${oneLine(block.path ?? '', limits.path)}]`,
    `reason: ${refusalTexts[reason]}`,
  )
}

const refusalTexts: { readonly [R in RefusalReason]: string } = {
  'media type': 'models are shown only JPEG, PNG, GIF, WebP and PDF; work on it in code, by its path',
  'not asked for': 'a produced PDF is not shown unless it is read; react.read brings it in',
  'file size': 'larger than what a model may be sent; work on it in code, by its path',
  'message size':
    'the conversation already carries as many bytes as a model may be sent; hide what is no longer needed, then react.read it',
  number: 'as many images and documents as may be shown at one place are shown already; react.read brings it in',
}

/**
 * Decides which images and documents a prompt contains. When a limit is reached, later blocks are left out and never earlier ones, because
 * removing an earlier block would change the cached beginning of the prompt.
 */
export interface AttachmentLimiter {
  /**
   * Decides whether the image or document of a block is sent. If it is sent, returns its number, counted from 1 within its round or within
   * the user's input of its turn. If not, returns the reason. Undefined for a block without bytes.
   */
  admit(block: Block, toolId: string | undefined): number | RefusalReason | undefined
  /**
   * Counts a block that `admit` accepted against the limits. Call it only for a block that the prompt shows, because `admit` also accepts
   * blocks that later render to no parts.
   */
  record(block: Block, number: number): void
}

export function createAttachmentLimiter(limits: Caps): AttachmentLimiter {
  const numbers = new Map<string, number>()
  let totalBytes = 0

  return {
    admit(block, toolId) {
      const bytes = blobOf(block)
      if (!bytes) return undefined
      const refused = refusalReason(block, toolId, limits)
      if (refused) return refused
      const number = (numbers.get(groupOf(block)) ?? 0) + 1
      if (number > (roundKey(block) === undefined ? limits.binariesPerInput : limits.binariesPerRound)) return 'number'
      return totalBytes + bytes.size > limits.messageBytes ? 'message size' : number
    },
    record(block, number) {
      numbers.set(groupOf(block), number)
      totalBytes += blobOf(block)?.size ?? 0
    },
  }
}

const groupOf = (block: Block) => roundKey(block) ?? `input of ${block.turn_id}`

const imageTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/**
 * Why the bytes of this block are not sent; undefined when they may be sent. Only the block itself is checked. `admit` checks the limits
 * for a round, for the user's input and for the whole prompt. A PDF that a tool made is sent only if the agent reads it with `react.read`
 * or the tool set `attach_to_model`, because each page of a PDF costs thousands of tokens.
 */
function refusalReason(block: Block, toolId: string | undefined, limits: Caps): RefusalReason | undefined {
  const mime = mimeOf(block)
  const size = blobOf(block)?.size ?? 0
  if (imageTypes.has(mime)) return size > limits.imageBytes ? 'file size' : undefined
  if (mime !== 'application/pdf') return 'media type'
  const wanted = block.type !== 'react.tool.result' || toolId === 'react.read' || block.meta?.attach_to_model === true
  if (!wanted) return 'not asked for'
  return size > limits.documentBytes ? 'file size' : undefined
}
