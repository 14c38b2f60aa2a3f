import type { Block } from '../../block/block.ts'
import { readNotice } from '../../block/notice.ts'
import type { RenderContext } from '../context.ts'
import { scrubBase64 } from '../redact.ts'
import { omitHostingFields } from '../secrets.ts'
import { clip, joinLines, oneLine, textPart } from '../text.ts'
import type { Part } from '../types.ts'

export function renderNotice(block: Block, { caps }: RenderContext): readonly Part[] {
  const notice = readNotice(block)
  if (!notice) return [textPart(`[REACT NOTICE]\n${clip(scrubBase64(block.text ?? ''), caps.noticeMessage)}`)]
  const { code, message, ...rest } = notice
  if (code === 'plan_closed') return [] // the plan's own result says so
  const extra = JSON.stringify(rest, omitHostingFields, 2)
  return [
    textPart(
      joinLines(
        code.startsWith('protocol_violation.') ? '[PROTOCOL VIOLATION]' : '[REACT NOTICE]',
        `code: ${oneLine(code, caps.id)}`,
        message.trim() === '' ? undefined : clip(scrubBase64(message), caps.noticeMessage),
        extra === '{}' ? undefined : clip(scrubBase64(extra), caps.noticeDetails),
      ),
    ),
  ]
}
