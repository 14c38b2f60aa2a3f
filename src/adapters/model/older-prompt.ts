import type { LanguageModelV3Prompt, LanguageModelV4Prompt } from '@ai-sdk/provider'

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
