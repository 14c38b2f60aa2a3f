import type { z } from 'zod'
import { parseJson } from '../json.ts'
import type { Block, BlockType } from './block.ts'

/**
 * Wraps a function so that it runs only once per object and then returns the remembered result. The objects, usually blocks, must be
 * immutable.
 */
export function oncePerBlock<B extends object, T>(read: (block: B) => T): (block: B) => T {
  const results = new WeakMap<B, { readonly value: T }>()
  return (block) => {
    const known = results.get(block)
    if (known) return known.value
    const value = read(block)
    results.set(block, { value })
    return value
  }
}

/** Makes a reader for blocks of the given types. It parses each block once. It returns undefined for blocks of other types. */
export function oncePerBlockOfType<T>(types: readonly BlockType[], read: (block: Block) => T | undefined): (block: Block) => T | undefined {
  const wanted: ReadonlySet<BlockType> = new Set(types)
  const readOnce = oncePerBlock(read)
  return (block) => (wanted.has(block.type) ? readOnce(block) : undefined)
}

/**
 * Makes a reader for blocks of the given types that remembers only its latest result. It is for blocks that are read several times when
 * they are appended, and rarely later. `oncePerBlockOfType` would keep the parsed content of all these blocks in memory.
 */
export function latestBlockOfType<T>(types: readonly BlockType[], read: (block: Block) => T | undefined): (block: Block) => T | undefined {
  const wanted: ReadonlySet<BlockType> = new Set(types)
  let latest: { readonly block: Block; readonly value: T | undefined } | undefined
  return (block) => {
    if (!wanted.has(block.type)) return undefined
    if (latest?.block !== block) latest = { block, value: read(block) }
    return latest.value
  }
}

/**
 * Parses JSON text by a schema. Returns undefined when the text is not JSON or does not fit the schema. It never throws, because blocks of
 * imported timelines may have any text.
 */
export function parseJsonAs<S extends z.ZodType>(schema: S, text: string | undefined): z.output<S> | undefined {
  const value = parseJson(text)
  if (value === undefined) return undefined
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}
