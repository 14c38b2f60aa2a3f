import type { SdkModel } from './ai-sdk.ts'
import type { SdkEmbeddingModel } from './embedding.ts'
import type { RulesName } from './provider-rules.ts'

/** How to open a model of a provider: environment variables and AI SDK package. The package is loaded when the model is first used. */
export interface Provider {
  readonly rules: RulesName
  readonly packageName: string
  /** The environment variables that may contain the key. Messages to users mention the first one. */
  readonly key: { readonly variables: readonly string[]; readonly required: boolean }
  readonly address: { readonly variable: string; readonly usual?: string }
  open(options: OpenOptions): Promise<SdkModel>
  /** Opens an embedding model. Missing if the provider has none. */
  openEmbedding?(options: OpenOptions): Promise<SdkEmbeddingModel>
}

export interface OpenOptions {
  readonly model: string
  readonly key: string | undefined
  readonly address: string | undefined
}

/** The names of the providers, as in `anthropic/claude-sonnet-5-5`. */
export type ProviderName = 'anthropic' | 'openai' | 'google' | 'ollama' | 'compatible'

/** All providers by name. "How to add" in ARCHITECTURE.md lists the files to change for a new provider. */
export const providers: Readonly<Record<ProviderName, Provider>> = {
  anthropic: {
    rules: 'anthropic',
    packageName: '@ai-sdk/anthropic',
    key: { variables: ['ANTHROPIC_API_KEY'], required: true },
    address: { variable: 'ANTHROPIC_BASE_URL' },
    async open({ model, key, address }) {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ ...(key && { apiKey: key }), ...(address && { baseURL: address }) }).languageModel(model)
    },
  },
  openai: {
    rules: 'openai',
    packageName: '@ai-sdk/openai',
    key: { variables: ['OPENAI_API_KEY'], required: true },
    address: { variable: 'OPENAI_BASE_URL' },
    async open({ model, key, address }) {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ ...(key && { apiKey: key }), ...(address && { baseURL: address }) }).responses(model)
    },
    async openEmbedding({ model, key, address }) {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ ...(key && { apiKey: key }), ...(address && { baseURL: address }) }).embeddingModel(model)
    },
  },
  google: {
    rules: 'google',
    packageName: '@ai-sdk/google',
    key: { variables: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'], required: true },
    address: { variable: 'GOOGLE_GENERATIVE_AI_BASE_URL' },
    async open({ model, key, address }) {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ ...(key && { apiKey: key }), ...(address && { baseURL: address }) }).languageModel(model)
    },
    async openEmbedding({ model, key, address }) {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ ...(key && { apiKey: key }), ...(address && { baseURL: address }) }).embeddingModel(model)
    },
  },
  ollama: {
    rules: 'ollama',
    packageName: '@ai-sdk/openai-compatible',
    key: { variables: ['OLLAMA_API_KEY'], required: false },
    address: { variable: 'OLLAMA_BASE_URL', usual: 'http://127.0.0.1:11434/v1' },
    open: (opening) => openCompatible('ollama', opening),
    openEmbedding: (opening) => openCompatibleEmbedding('ollama', opening),
  },
  compatible: {
    rules: 'compatible',
    packageName: '@ai-sdk/openai-compatible',
    key: { variables: ['OPENAI_COMPATIBLE_API_KEY'], required: false },
    address: { variable: 'OPENAI_COMPATIBLE_BASE_URL' },
    open: (opening) => openCompatible('compatible', opening),
    openEmbedding: (opening) => openCompatibleEmbedding('compatible', opening),
  },
}

async function openCompatible(name: string, { model, key, address = '' }: OpenOptions): Promise<SdkModel> {
  const [{ createOpenAICompatible }, { fetchCompatible }] = await Promise.all([
    import('@ai-sdk/openai-compatible'),
    import('./compatible-stream.ts'),
  ])
  const options = { name, baseURL: address, includeUsage: true, fetch: fetchCompatible, ...(key && { apiKey: key }) }
  return createOpenAICompatible(options).chatModel(model)
}

async function openCompatibleEmbedding(name: string, { model, key, address = '' }: OpenOptions): Promise<SdkEmbeddingModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({ name, baseURL: address, ...(key && { apiKey: key }) }).embeddingModel(model)
}
