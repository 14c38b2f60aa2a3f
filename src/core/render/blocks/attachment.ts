import type { BlobRef, Block } from '../../block/block.ts'
import { binaryContentOf } from '../../estimate/estimate.ts'
import { roundKey } from '../../timeline/turns.ts'
import type { Caps } from '../caps.ts'
import { joinLines, oneLine, textPart } from '../text.ts'
import type { BinaryPart, Part, RefusalReason, RenderContext } from '../types.ts'

const imageTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

export function mimeOf({ mime = '' }: Block): string {
  const end = mime.indexOf(';')
  return (end === -1 ? mime : mime.slice(0, end)).trim().toLowerCase()
}

/** The bytes of a block, by reference; of an inline one only the size is known. */
export function blobOf(block: Block): BlobRef | undefined {
  if (block.blob) return block.blob
  return block.base64 === undefined ? undefined : { sha256: '', size: decodedSize(block.base64) }
}

function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor(((base64.length - padding) * 3) / 4)
}

/** Why these bytes may not go to a model, whatever else there is; undefined when they may. A PDF costs thousands of tokens a page. */
export function refusalReason(block: Block, toolId: string | undefined, limits: Caps): RefusalReason | undefined {
  const mime = mimeOf(block)
  const size = blobOf(block)?.size ?? 0
  if (imageTypes.has(mime)) return size > limits.imageBytes ? 'file size' : undefined
  if (mime !== 'application/pdf') return 'media type'
  const wanted = block.type !== 'react.tool.result' || toolId === 'react.read' || block.meta?.attach_to_model === true
  if (!wanted) return 'not asked for'
  return size > limits.documentBytes ? 'file size' : undefined
}

/** The image or document, or a note that says why it is not there. */
export function binaryParts(block: Block, { attached, caps }: RenderContext): readonly Part[] {
  const blob = blobOf(block)
  if (!blob) return []
  if (typeof attached !== 'number') return [textPart(refusalNote(block, attached ?? 'media type', caps))]
  const media_type = mimeOf(block)
  const { size: _size, media_type: _type, ...dimensions } = binaryContentOf(block) ?? {}
  const part: BinaryPart = { type: media_type === 'application/pdf' ? 'document' : 'image', media_type, blob, ...dimensions }
  return [block.blob || block.base64 === undefined ? part : { ...part, base64: block.base64 }]
}

function refusalNote(block: Block, why: RefusalReason, limits: Caps): string {
  const placed = block.type === 'react.tool.result' || block.path === undefined // the heading of a result says where it is
  return joinLines(
    `[NOT ATTACHED] ${oneLine(mimeOf(block) || 'unknown type', limits.mime)}, ${blobOf(block)?.size ?? 0} bytes`,
    placed ? undefined : `[path: ${oneLine(block.path ?? '', limits.path)}]`,
    `reason: ${refusalTexts[why]}`,
  )
}

const refusalTexts: { readonly [W in RefusalReason]: string } = {
  'media type': 'models are shown only JPEG, PNG, GIF, WebP and PDF; work on it in code, by its path',
  'not asked for': 'a produced PDF is not shown unless it is read; react.read brings it in',
  'file size': 'larger than what a model may be sent; work on it in code, by its path',
  'message size':
    'the conversation already carries as many bytes as a model may be sent; hide what is no longer needed, then react.read it',
  number: 'as many images and documents as may be shown at one place are shown already; react.read brings it in',
}

/** Which images and documents go along. First come, first served: a later one never pushes an earlier one out of the prompt. */
export interface AttachmentLimiter {
  /** The number these bytes would get in their round or input, or why they would get none; undefined when there are no bytes. */
  admit(block: Block, toolId: string | undefined): number | RefusalReason | undefined
  /** They were shown, with this number. */
  record(block: Block, number: number): void
}

export function createAttachmentLimiter(limits: Caps): AttachmentLimiter {
  const shown = new Map<string, number>()
  let total = 0

  return {
    admit(block, toolId) {
      const bytes = blobOf(block)
      if (!bytes) return undefined
      const refused = refusalReason(block, toolId, limits)
      if (refused) return refused
      const round = roundKey(block)
      const number = (shown.get(groupOf(block)) ?? 0) + 1
      if (number > (round === undefined ? limits.binariesPerInput : limits.binariesPerRound)) return 'number'
      return total + bytes.size > limits.messageBytes ? 'message size' : number
    },
    record(block, number) {
      shown.set(groupOf(block), number)
      total += blobOf(block)?.size ?? 0
    },
  }
}

const groupOf = (block: Block) => roundKey(block) ?? `input of ${block.turn_id}`
