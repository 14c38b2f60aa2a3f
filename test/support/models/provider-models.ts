import { createHash } from 'node:crypto'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import type { Part } from '../../../src/core/render/types.ts'
import type { Model, ModelRequest } from '../../../src/ports/model.ts'
import type { FakeProviderName } from '../../../src/testing/fake-providers/fake-provider.ts'
import { pdf } from '../sample-files/pdf.ts'

/** The name of one model of each provider, as in the settings of a user. */
export const modelNames: Readonly<Record<FakeProviderName, string>> = {
  anthropic: 'anthropic/claude-sonnet-5-5',
  openai: 'openai/gpt-6-sol',
  google: 'google/gemini-3.8-flash',
  compatible: 'compatible/qwen3',
}
export const everyProvider = Object.keys(modelNames) as readonly FakeProviderName[]

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const imageBytes: Uint8Array = Buffer.from(png, 'base64')
export const pdfBytes: Uint8Array = pdf(['A paper.'])

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const blobOf = (bytes: Uint8Array) => ({ sha256: hash(bytes), size: bytes.length })

export const text = (words: string): Part => ({ type: 'text', text: words })
export const imagePart = (): Part => ({ type: 'image', media_type: 'image/png', blob: blobOf(imageBytes) })
export const pdfPart = (): Part => ({ type: 'document', media_type: 'application/pdf', blob: blobOf(pdfBytes) })
export const marked = (part: Part): Part => ({ ...part, cache: true })

export function requestOf(parts: readonly Part[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return {
    role: 'decision',
    system: 'You are an agent.',
    parts,
    maxTokens: 1_000,
    temperature: 0.5,
    cacheKey: 'c1',
    read: async ({ sha256 }) => (sha256 === hash(imageBytes) ? imageBytes : pdfBytes),
    ...rest,
  }
}

export async function ask(model: Model, request: ModelRequest, signal = new AbortController().signal): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, signal)) events.push(event)
  return events
}
