import type { LanguageModelV3Prompt, LanguageModelV4FilePart, LanguageModelV4Prompt, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { Part } from '../../core/render/types.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { type Omission, placeholderText } from './binary-limits.ts'
import type { MarkOptions } from './cache-marks.ts'

interface PromptOptions {
  /** The images and documents that are not sent, by index. */
  readonly omitted: ReadonlyMap<number, Omission>
  /** The indices of the parts that get a cache mark. */
  readonly marks: ReadonlySet<number>
  readonly mark: MarkOptions
  readonly read: ModelRequest['read']
}

/** The request as messages of the AI SDK: the system text, and one user message with texts, images and documents. */
export async function buildPrompt(system: string, parts: readonly Part[], options: PromptOptions): Promise<LanguageModelV4Prompt> {
  const content = await Promise.all(
    parts.map(async (part, index) => {
      const built = await buildPart(part, options.omitted.get(index), options.read)
      return options.mark && options.marks.has(index) ? { ...built, providerOptions: options.mark } : built
    }),
  )
  const user = { role: 'user' as const, content }
  if (system.trim() === '') return [user]
  return [{ role: 'system', content: system.toWellFormed(), ...(options.mark && { providerOptions: options.mark }) }, user]
}

async function buildPart(
  part: Part,
  omission: Omission | undefined,
  read: PromptOptions['read'],
): Promise<LanguageModelV4TextPart | LanguageModelV4FilePart> {
  if (part.type === 'text') return { type: 'text', text: part.text.toWellFormed() } // providers reject half a surrogate pair
  if (omission) return { type: 'text', text: placeholderText(part, omission) }
  const data = part.base64 === undefined ? await read(part.blob) : Buffer.from(part.base64, 'base64')
  return {
    type: 'file',
    mediaType: part.media_type,
    data: { type: 'data', data },
    ...(part.type === 'document' && { filename: 'document.pdf' }), // always the same name, because another name would be a cache miss
  }
}

/** The parts without empty texts, which some providers reject. If a removed part has a mark, the part before it gets the mark. */
export function nonEmptyParts(parts: readonly Part[]): readonly Part[] {
  const kept: Part[] = []
  for (const part of parts) {
    const last = kept.at(-1)
    if (part.type !== 'text' || part.text.trim() !== '') kept.push(part)
    else if (part.cache && last) kept[kept.length - 1] = { ...last, cache: true }
  }
  return kept
}

/** Converts a prompt of `buildPrompt` to version 3 of the AI SDK, in which a file part contains its bytes directly. */
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
  ) as LanguageModelV3Prompt // both versions have the same system and user messages, and `buildPrompt` makes no others
}
