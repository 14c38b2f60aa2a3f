import { errorMessage, Failure } from '../../core/failure.ts'
import type { Embedder } from '../../ports/embedder.ts'
import { type NamedModelOptions, resolveModel, retryableOnce } from './model-from.ts'
import { redact } from './redact.ts'

/**
 * An embedding model of the AI SDK, version 3 or 4 of its interface. The types of the SDK are not used, because the SDK is an optional
 * package: code must compile without it.
 */
export interface SdkEmbeddingModel {
  readonly specificationVersion: 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined
  doEmbed(options: never): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>
}

/** An embedding model by name (`openai/text-embedding-3-small`), one of the AI SDK, or an implementation of the `Embedder` port. */
export type EmbeddingChoice = string | Embedder | SdkEmbeddingModel

/** The most texts in one request. Many providers allow more, but the requests become large. */
const MAX_TEXTS = 96

/**
 * Makes an embedder from a name, a model of the AI SDK, or an `Embedder`. Throws `model.unavailable` when a key, an address or the package
 * of the provider is missing, or when the provider has no embedding models. The package is loaded at the first call.
 */
export function embedderFrom(choice: EmbeddingChoice, options: Pick<NamedModelOptions, 'environment' | 'key' | 'address'> = {}): Embedder {
  if (typeof choice !== 'string') return 'doEmbed' in choice ? wrapSdkModel(choice) : wrapEmbedder(choice)
  const { name, provider, entry, opening } = resolveModel(choice, options, 'or use no embedding model')
  const { openEmbedding } = entry
  if (!openEmbedding) throw new Failure('model.unavailable', `${provider} has no embedding models: use one of another provider`)
  return sdkEmbedder(
    name,
    retryableOnce(() => openEmbedding(opening)),
    opening.key === undefined ? [] : [opening.key],
  )
}

function wrapSdkModel(model: SdkEmbeddingModel): Embedder {
  if (model.specificationVersion !== 'v4' && model.specificationVersion !== 'v3') {
    const { provider } = model as SdkEmbeddingModel
    throw new Failure('model.unavailable', `this embedding model of ${provider} is too old or too new: use version 3 or 4 of its interface`)
  }
  return sdkEmbedder(`${model.provider.split('.')[0]}/${model.modelId}`, async () => model, [])
}

/** An embedder of the application. Its vectors are checked like those of a provider. */
function wrapEmbedder(embedder: Embedder): Embedder {
  const { name } = embedder
  if (typeof name !== 'string' || name === '' || typeof embedder.embed !== 'function')
    throw new Failure('model.unavailable', 'the setting embedding must be an object with a `name` and a function `embed`')
  return checkedEmbedder(name, (texts, signal) => embedder.embed(texts, signal), [])
}

function sdkEmbedder(name: string, open: () => Promise<SdkEmbeddingModel>, secrets: readonly string[]): Embedder {
  async function embedSome(texts: readonly string[], signal: AbortSignal | undefined): Promise<readonly (readonly number[])[]> {
    const { doEmbed } = (await open()) as { doEmbed(options: object): ReturnType<SdkEmbeddingModel['doEmbed']> }
    const model = await open()
    const { embeddings } = await doEmbed.call(model, { values: [...texts], ...(signal && { abortSignal: signal }) })
    return checkCount(embeddings, texts)
  }
  return checkedEmbedder(
    name,
    async (texts, signal) => {
      const limit = Math.min(MAX_TEXTS, (await (await open()).maxEmbeddingsPerCall) ?? MAX_TEXTS)
      const vectors: (readonly number[])[] = []
      for (let from = 0; from < texts.length; from += limit) vectors.push(...(await embedSome(texts.slice(from, from + limit), signal)))
      return vectors
    },
    secrets,
  )
}

type Embed = (texts: readonly string[], signal: AbortSignal | undefined) => Promise<readonly ArrayLike<number>[]>

/** An embedder whose vectors all have the length 1 and the same dimension. Its errors name the model. */
function checkedEmbedder(name: string, embed: Embed, secrets: readonly string[]): Embedder {
  return {
    name,
    async embed(texts, signal) {
      try {
        const vectors = checkCount(await embed(texts, signal), texts).map(unitVector)
        if (vectors.some(({ length }) => length !== vectors[0]?.length)) throw new Error('its vectors have different lengths')
        return vectors
      } catch (error) {
        signal?.throwIfAborted()
        throw new Failure('model.unavailable', `${name} made no vectors: ${redact(errorMessage(error), secrets)}`, { cause: error })
      }
    },
  }
}

function checkCount<T>(vectors: readonly T[], texts: readonly string[]): readonly T[] {
  if (!Array.isArray(vectors) || vectors.length !== texts.length)
    throw new Error(`it sent ${Array.isArray(vectors) ? vectors.length : 'no'} vectors for ${texts.length} texts`)
  return vectors
}

/** The vector with the length 1, so that a product of two vectors is the cosine of their angle. */
function unitVector(values: ArrayLike<number>): Float32Array {
  const vector = Float32Array.from(values)
  const length = Math.hypot(...vector)
  if (!(length > 0 && Number.isFinite(length))) throw new Error('it sent a vector that is empty or not made of numbers')
  return vector.map((value) => value / length)
}
