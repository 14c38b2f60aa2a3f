import type { Prompt } from './render.ts'
import type { Part } from './types.ts'

/** The prompt as a person reads it: what goldens keep and `daybook show` prints. */
export function promptText({ parts, stableParts }: Pick<Prompt, 'parts' | 'stableParts'>): string {
  const drawn = parts.map((part, index) => {
    const tail = index === stableParts ? `${rule(' not cached from here on ')}\n\n` : ''
    return tail + drawPart(part) + (part.cache ? `${rule(' cache point ')}\n\n` : '')
  })
  return `${drawn.join('').trimEnd()}\n`
}

const rule = (label: string) => `────${label}────`

function drawPart(part: Part): string {
  if (part.type === 'text') return part.text.endsWith('\n\n') ? part.text : `${part.text}\n\n`
  const size = part.base64 === undefined ? `size=${part.blob.size}` : `b64_len=${part.base64.length}`
  return `<${part.type} media_type=${part.media_type} ${size}>\n\n`
}
