import type { z } from 'zod'
import { isObject, parseJson } from '../json.ts'
import type { Block, BlockType, Draft } from './block.ts'

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
 * Makes a reader for blocks of one type that remembers only its latest result. It is for blocks that are read several times when they are
 * appended, and rarely later. `oncePerBlockOfType` would keep the parsed content of all these blocks in memory. `remember` sets the result
 * for a new block, so that its text need not be parsed.
 */
export function latestBlockOfType<T>(type: BlockType, parse: (block: Block) => T | undefined) {
  let latest: { readonly block: Draft; readonly value: T | undefined } | undefined
  return {
    read(block: Block): T | undefined {
      if (block.type !== type) return undefined
      if (latest?.block !== block) latest = { block, value: parse(block) }
      return latest.value
    },
    remember(block: Draft, value: T): void {
      latest = { block, value }
    },
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

/** Tells whether a value fits one field of an object. A missing field has the value undefined. */
export type FieldCheck = (value: unknown) => boolean

export const isText: FieldCheck = (value) => typeof value === 'string'
export const isFlag: FieldCheck = (value) => typeof value === 'boolean'
export const isNumber: FieldCheck = (value) => Number.isFinite(value)
export const isOneOf =
  (...values: readonly string[]): FieldCheck =>
  (value) =>
    typeof value === 'string' && values.includes(value)
export const isListOf =
  (item: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every(item)
export const isMissingOr =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === undefined || check(value)

/** One check for each field that T declares. Fields that T does not declare need no check. */
export type FieldChecks<T> = { readonly [K in keyof T as string extends K ? never : number extends K ? never : K]-?: FieldCheck }

/**
 * Checks the fields of an object. The result has the checked fields first, and then its other fields. Undefined when the value is not an
 * object, or when a field does not fit. The readers of blocks use this function and no zod schema, because the client for browsers contains
 * the readers, and zod is five times as large as the client.
 */
export function readFields<T extends object>(checks: FieldChecks<T>, value: unknown): T | undefined {
  if (!isObject(value)) return undefined
  const fields: Record<string, unknown> = {}
  for (const name in checks) {
    const field = Object.hasOwn(value, name) ? value[name] : undefined
    if (!checks[name as keyof FieldChecks<T>](field)) return undefined
    if (field !== undefined) fields[name] = field
  }
  for (const name in value) if (name !== '__proto__' && !Object.hasOwn(checks, name)) fields[name] = value[name]
  return fields as T // `checks` has a check for every field of T
}
