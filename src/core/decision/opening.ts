import type { Notice } from '../block/notice.ts'
import { previewLimit, snippet, truncate, violation } from './violations.ts'

const startAgain = 'Begin the next reply with `<channel:thinking>`, and write nothing before it.'

/** Something was written before the first tag. It is in no channel, so nobody may read it. */
export function preambleViolation(preamble: string): Notice {
  return violation('decision_preamble_before_first_channel', {
    what: 'The reply began with text outside of any channel and was not read further; the user saw none of it.',
    next: startAgain,
    extra: { preamble_chars: preamble.length, preamble_preview: truncate(preamble.trimStart(), previewLimit) },
  })
}

export function firstChannelViolation(firstChannel: string, offset: number): Notice {
  return violation('decision_first_channel_not_thinking', {
    what: `The first channel of the reply was \`${snippet(firstChannel)}\` instead of \`thinking\`; the reply was not read further.`,
    next: `${startAgain} Then write the \`action\` channel.`,
    extra: { first_channel: snippet(firstChannel), offset },
  })
}

/** The close tag, by name, that stands where the first open tag should. */
export function leadingCloseTag(raw: string, preamble: string): string | undefined {
  if (raw.startsWith('<channel:', preamble.length)) return undefined
  const tag = raw.slice(preamble.length, preamble.length + 100)
  return /^<[ \t]{0,4}(\/)[ \t]{0,4}channel:([\w-]{1,64})/i.exec(tag)?.slice(1).join('')
}
