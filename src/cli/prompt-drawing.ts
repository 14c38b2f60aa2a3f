import type { PromptView } from '../core/api/prompt.ts'
import { plainLine, plainText } from './plain-text.ts'
import type { Style } from './style.ts'

/** A prompt as the model read it, with a line across wherever the provider may cache everything above. */
export function promptLines({ turn_id, iteration, model, system, parts, usage, differs }: PromptView, style: Style): readonly string[] {
  const marks = parts.filter(({ marked }) => marked).length
  const lines = [style.bold(`── ${plainLine(turn_id)} round ${iteration}${model === null ? '' : ` · ${plainLine(model)}`}`)]
  if (differs !== undefined) lines.push(style.failure(`this is not what was sent: ${plainLine(differs)}`))
  lines.push(style.dim('[system]'), plainText(system), cacheMarkLine(style, 'system text'))
  let number = 0
  for (const part of parts) {
    if (part.type === 'text') lines.push(plainText(part.text ?? ''))
    else lines.push(style.dim(`[${part.type} ${plainLine(part.media_type ?? '')}, ${part.size_bytes ?? 0} bytes]`))
    if (part.marked) lines.push(cacheMarkLine(style, `${++number} of ${marks}`))
  }
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0)
  lines.push(style.dim(`about ${tokens} tokens in ${parts.length} parts, besides the system text`))
  if (usage)
    lines.push(style.dim(`billed: ${usage.uncached} in full, ${usage.cache_read} read, ${usage.cache_write} written, ${usage.output} out`))
  return lines
}

const cacheMarkLine = (style: Style, which: string) => style.success(`━━━━━━━━━━━━━━━━ cache mark: ${which} ━━━━━━━━━━━━━━━━`)
