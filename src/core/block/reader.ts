import type { z } from 'zod'
import { parseJson } from '../json.ts'
import type { Block } from './block.ts'

/** A reader that parses a block once: blocks never change, so neither does what they say. */
export function oncePerBlock<B extends object, T>(read: (block: B) => T): (block: B) => T {
  const seen = new WeakMap<B, { readonly value: T }>()
  return (block) => {
    const known = seen.get(block)
    if (known) return known.value
    const value = read(block)
    seen.set(block, { value })
    return value
  }
}

/** The same for blocks of some types. Any other block is told by its type alone, and not remembered. */
export function oncePerBlockOfType<T>(types: readonly string[], read: (block: Block) => T | undefined): (block: Block) => T | undefined {
  const known: ReadonlySet<string> = new Set(types)
  const once = oncePerBlock(read)
  return (block) => (known.has(block.type) ? once(block) : undefined)
}

/** The same where a block is read when it is entered and hardly ever again: to remember each would cost more than to read it anew. */
export function rememberLatestBlock<T>(types: readonly string[], read: (block: Block) => T | undefined): (block: Block) => T | undefined {
  const known: ReadonlySet<string> = new Set(types)
  let latest: { readonly block: Block; readonly value: T | undefined } | undefined
  return (block) => {
    if (!known.has(block.type)) return undefined
    if (latest?.block !== block) latest = { block, value: read(block) }
    return latest.value
  }
}

/** Undefined when the text is not what the schema says: the reader of a block never throws. */
export function parseJsonAs<S extends z.ZodType>(schema: S, text: string | undefined): z.output<S> | undefined {
  const value = parseJson(text)
  if (value === undefined) return undefined
  const parsed = schema.safeParse(value)
  return parsed.success ? parsed.data : undefined
}
