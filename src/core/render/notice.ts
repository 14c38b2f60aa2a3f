import type { Block } from '../block/envelope.ts'
import { readNotice } from '../block/notice.ts'
import type { ShowContext } from './context.ts'
import type { Part } from './part.ts'
import { scrubBase64 } from './scrub.ts'
import { openFieldsOnly } from './secrets.ts'
import { clipped, lines, oneLine, textPart } from './text.ts'

export function renderNotice(block: Block, { caps }: ShowContext): readonly Part[] {
  const notice = readNotice(block)
  if (!notice) return [textPart(`[REACT NOTICE]\n${clipped(scrubBase64(block.text ?? ''), caps.noticeMessage)}`)]
  const { code, message, ...rest } = notice
  if (code === 'plan_closed') return [] // the plan's own result says so
  const extra = JSON.stringify(rest, openFieldsOnly, 2)
  return [
    textPart(
      lines(
        code.startsWith('protocol_violation.') ? '[PROTOCOL VIOLATION]' : '[REACT NOTICE]',
        `code: ${oneLine(code, caps.id)}`,
        message.trim() === '' ? undefined : clipped(scrubBase64(message), caps.noticeMessage),
        extra === '{}' ? undefined : clipped(scrubBase64(extra), caps.noticeDetails),
      ),
    ),
  ]
}
