import { composeAnnounce } from '../../../src/core/announce/announce.ts'
import { createRenderer, type Prompt } from '../../../src/core/render/render.ts'
import { sourcesTail } from '../../../src/core/render/sources-tail.ts'
import type { Part } from '../../../src/core/render/types.ts'
import type { Situation } from '../../golden/scenes.ts'
import { plainOptions } from './timelines.ts'

/** The whole prompt of a situation, in the format of the golden files. */
export function goldenPrompt({ timeline, turnId, pool, announce }: Situation): string {
  const tails = {
    sources: pool && sourcesTail(pool, turnId),
    announce: announce && composeAnnounce(announce),
  }
  return promptText(createRenderer().render(timeline, plainOptions(turnId, tails)))
}

function promptText({ parts, stableParts }: Prompt): string {
  const texts = parts.map((part, index) => {
    const tailRule = index === stableParts ? `${rule(' not cached from here on ')}\n\n` : ''
    return tailRule + partText(part) + (part.cache ? `${rule(' cache point ')}\n\n` : '')
  })
  return `${texts.join('').trimEnd()}\n`
}

const rule = (label: string) => `────${label}────`

function partText(part: Part): string {
  if (part.type === 'text') return part.text.endsWith('\n\n') ? part.text : `${part.text}\n\n`
  const size = part.base64 === undefined ? `size=${part.blob.size}` : `b64_len=${part.base64.length}`
  return `<${part.type} media_type=${part.media_type} ${size}>\n\n`
}
