import type {
  LanguageModelV3Prompt,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { BinaryPart, Part } from '../../core/render/types.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { MarkRules, ProviderRules } from './provider-rules.ts'

/** How a mark is written for one model. */
export type MarkOptions = SharedV4ProviderOptions | undefined

export function markOptions({ form, ttlSeconds: [usual] }: MarkRules, optionsName: string, ttlSeconds: number | undefined): MarkOptions {
  switch (form) {
    case 'cache-control': {
      const longer = ttlSeconds !== undefined && ttlSeconds !== usual
      return { [optionsName]: { cacheControl: { type: 'ephemeral', ...(longer && { ttl: inHours(ttlSeconds) }) } } }
    }
    case 'breakpoint':
      return { [optionsName]: { promptCacheBreakpoint: { mode: 'explicit' } } }
    case 'automatic':
      return undefined
    default:
      return form satisfies never
  }
}

const inHours = (seconds: number) => `${seconds / 3_600}h`

/** A part that says nothing, or only spaces, is refused by some providers; its mark goes to the part before it, which ends at the same place. */
export function nonEmptyParts(parts: readonly Part[]): readonly Part[] {
  const spoken: Part[] = []
  for (const part of parts) {
    const last = spoken.at(-1)
    if (part.type !== 'text' || part.text.trim() !== '') spoken.push(part)
    else if (part.cache && last) spoken[spoken.length - 1] = { ...last, cache: true }
  }
  return spoken
}

export interface PromptOptions {
  readonly rules: Pick<ProviderRules, 'images' | 'documents'>
  readonly marks: ReadonlySet<number>
  readonly mark: MarkOptions
  readonly read: ModelRequest['read']
}

/** The system text and one user message of parts, with the bytes that the provider takes. */
export async function buildPrompt(system: string, parts: readonly Part[], writing: PromptOptions): Promise<LanguageModelV4Prompt> {
  const content = await Promise.all(
    parts.map(async (part, index) => {
      const written = await buildPart(part, writing)
      return writing.mark && writing.marks.has(index) ? { ...written, providerOptions: writing.mark } : written
    }),
  )
  const user = { role: 'user' as const, content }
  if (system.trim() === '') return [user]
  return [{ role: 'system', content: system.toWellFormed(), ...(writing.mark && { providerOptions: writing.mark }) }, user]
}

async function buildPart(part: Part, { rules, read }: PromptOptions): Promise<LanguageModelV4TextPart | LanguageModelV4FilePart> {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() } // half a letter is refused, with every request that holds it
  const shown = part.type === 'image' ? rules.images : rules.documents
  if (!shown.includes(part.media_type)) return { type: 'text', text: placeholderText(part) }
  const data = part.base64 === undefined ? await read(part.blob) : Buffer.from(part.base64, 'base64') // the same bytes, once they are stored
  return {
    type: 'file',
    mediaType: part.media_type,
    data: { type: 'data', data },
    ...(part.type === 'document' && { filename: 'document.pdf' }), // always the same: a name of ours would be a byte that can change
  }
}

/** The model should know that there is something, why it can not see it, and what to do instead. */
function placeholderText({ type, media_type, blob }: BinaryPart): string {
  const instead = type === 'document' ? 'react.read of its path gives its text, where it has any' : 'say so if the user asks about it'
  return `[${type} not shown: ${media_type}, ${blob.size} bytes. This model takes no ${type}s of that type; ${instead}.]\n\n`
}

/** The same prompt for models that speak the interface before: there, bytes stand in a part as they are. */
export function toV3Prompt(prompt: LanguageModelV4Prompt): LanguageModelV3Prompt {
  return prompt.map((message) =>
    message.role === 'user'
      ? {
          ...message,
          content: message.content.map((part) =>
            part.type === 'file' && part.data.type === 'data' ? { ...part, data: part.data.data } : part,
          ),
        }
      : message,
  ) as LanguageModelV3Prompt // only system and user messages with text and bytes are made here, and those are now alike
}
