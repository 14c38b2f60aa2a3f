/** Makes vectors of texts. With the vectors, texts can be compared by their meaning. */
export interface Embedder {
  /** The name of the model, such as `openai/text-embedding-3-small`. Vectors of different models can not be compared. */
  readonly name: string
  /** One vector for each text, in the same order. All vectors have the same length. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>
}
