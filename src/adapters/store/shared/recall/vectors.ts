import type { MemoryVectors, SnippetId, SnippetText } from '../../../../ports/store/memory-index.ts'
import { type Answer, answered, type Steps } from './steps.ts'

/** How many vectors are compared in one step. After each step, other work of the process can run. */
export const VECTORS_PER_STEP = 512
/** How many of the most similar snippets are used. */
const SIMILAR = 128
/** Reciprocal rank fusion: for each list, a snippet gets 1 / (this number + its rank in the list). */
const RANK_OFFSET = 60

/** A stored vector: numbers of 32 bits. */
export interface StoredVector {
  readonly number: number
  readonly body: Uint8Array
}

/** A model as it is stored. Its key is never used again for another model. */
export interface StoredModel {
  readonly key: number
  readonly name: string
  readonly dimensions: number
}

/** The vector of a snippet, as it is stored. */
export interface VectorRow extends SnippetId {
  readonly body: Uint8Array
}

/** The tables of the vectors. */
export interface VectorTables {
  model(): Answer<StoredModel | undefined>
  /** Stores a new model in place of the old one. */
  replaceModel(name: string, dimensions: number): Answer<StoredModel>
  missing(model: number, limit: number): Answer<readonly SnippetText[]>
  /** Stores the vectors of the snippets that still exist. */
  save(model: number, rows: readonly VectorRow[]): Answer<void>
  count(model: number): Answer<{ readonly done: number; readonly all: number }>
}

/** Keeps the vectors of a store. `write` runs its work in one transaction. */
export function createMemoryVectors(write: <T>(work: (tables: VectorTables) => Steps<T>) => Promise<T>): MemoryVectors {
  return {
    choose: ({ name, dimensions }) =>
      write(function* (tables): Steps<number> {
        const known = yield* answered(tables.model())
        if (known?.name === name && known.dimensions === dimensions) return known.key
        return (yield* answered(tables.replaceModel(name, dimensions))).key
      }),
    missing: (model, limit) =>
      write(function* (tables): Steps<readonly SnippetText[] | undefined> {
        const known = yield* answered(tables.model())
        return known?.key === model ? yield* answered(tables.missing(model, limit)) : undefined
      }),
    save: (model, vectors) =>
      write(function* (tables): Steps<void> {
        if ((yield* answered(tables.model()))?.key !== model) return
        const rows = vectors.map(({ owner, number, vector }) => {
          return { owner, number, body: new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength) }
        })
        yield* answered(tables.save(model, rows))
      }),
    progress: () =>
      write(function* (tables): Steps<Awaited<ReturnType<MemoryVectors['progress']>>> {
        const model = yield* answered(tables.model())
        return model && { name: model.name, dimensions: model.dimensions, ...(yield* answered(tables.count(model.key))) }
      }),
  }
}

/** Compares vectors with the vector of a question, in steps, and keeps the most similar ones. */
export function createSimilar(question: Float32Array) {
  let best: { readonly number: number; readonly similarity: number }[] = []
  return {
    add(vectors: readonly StoredVector[], accepts: (number: number) => boolean): void {
      for (const { number, body } of vectors) {
        const similarity = accepts(number) ? dotProduct(question, numbersOf(body)) : 0
        if (similarity > 0) best.push({ number, similarity })
      }
      best = best.sort((a, b) => b.similarity - a.similarity).slice(0, SIMILAR)
    },
    /** The numbers of the most similar snippets, best first. */
    numbers: (): readonly number[] => best.map(({ number }) => number),
  }
}

/** The numbers of a vector. They are copied if their position in the buffer is not aligned to four bytes. (`slice` of a `Buffer` does not copy.) */
function numbersOf(body: Uint8Array): Float32Array {
  const aligned = body.byteOffset % Float32Array.BYTES_PER_ELEMENT === 0 ? body : Uint8Array.from(body)
  return new Float32Array(aligned.buffer, aligned.byteOffset, Math.floor(aligned.byteLength / Float32Array.BYTES_PER_ELEMENT))
}

/** Vectors have the length 1, so this is the cosine of the angle between them. */
function dotProduct(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}

/** Joins lists by the ranks of their items. The scores are between 0 and 1. */
export function fuseRanks(lists: readonly (readonly number[])[]): ReadonlyMap<number, number> {
  const scores = new Map<number, number>()
  for (const list of lists)
    for (const [rank, number] of list.entries())
      scores.set(number, (scores.get(number) ?? 0) + (RANK_OFFSET + 1) / (RANK_OFFSET + 1 + rank) / lists.length)
  return scores
}
