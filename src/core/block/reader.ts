import type { z } from 'zod'
import { parseJson } from '../json.ts'
import type { Block, BlockType } from './block.ts'

/** A function of a block (or of another immutable object) that computes its result once per object. */
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

/** A reader for blocks of these types, which parses each block once. Gives undefined for every other block. */
export function oncePerBlockOfType<T>(types: readonly BlockType[], read: (block: Block) => T | undefined): (block: Block) => T | undefined {
  const wanted: ReadonlySet<BlockType> = new Set(types)
  const readOnce = oncePerBlock(read)
  return (block) => (wanted.has(block.type) ? readOnce(block) : undefined)
}

/**
 * A reader for blocks of these types that remembers only the latest block: for types that are read several times while they are
 * appended and hardly ever later, so that a long conversation does not keep every parsed payload in memory.
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
 * Parses JSON text by a schema. Undefined when it does not fit: imported timelines may hold anything, and a reader of blocks never
 * throws.
 */
export function parseJsonAs<S extends z.ZodType>(schema: S, text: string | undefined): z.output<S> | undefined {
  const value = parseJson(text)
  if (value === undefined) return undefined
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}
