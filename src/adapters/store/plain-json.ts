import { Failure } from '../../core/failure.ts'

/**
 * The value as JSON would give it back, without writing it: the same object when it is plain already, which is nearly always.
 * So what an append returns is what a later load returns, and a store in memory behaves like one on disk.
 */
export function plainJson(value: unknown): unknown {
  return isPlainJson(value) ? value : remade(value)
}

/** Nothing is made to find out, because it is asked of every entry. */
function isPlainJson(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || isPlainObject(value)
    default:
      return false
  }
}

function isPlainObject(value: object): boolean {
  if ('toJSON' in value) return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isPlainJson(value[index])) return false // a hole is not plain
    return true
  }
  if (!isPlain(value)) return false
  for (const key in value) if (!isPlainJson((value as Readonly<Record<string, unknown>>)[key])) return false
  return true
}

function remade(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value + 0 : null // JSON knows no NaN, and its zero has no sign
    case 'object':
      return value === null ? null : plainObject(value)
    case 'bigint':
      throw new Failure('change.invalid', 'a change can not hold a bigint: JSON has none')
    default:
      return undefined
  }
}

function plainObject(value: object): unknown {
  if ('toJSON' in value && typeof value.toJSON === 'function') return remade(value.toJSON())
  if (Array.isArray(value)) return plainList(value)
  const entries = Object.entries(value)
  let changed = !isPlain(value)
  const plain = entries.flatMap(([key, held]): [string, unknown][] => {
    const kept = remade(held)
    if (!Object.is(kept, held)) changed = true
    return kept === undefined ? [] : [[key, kept]]
  })
  return changed || plain.length < entries.length ? Object.fromEntries(plain) : value
}

/** A Map or a RegExp is an empty object to JSON. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function plainList(list: readonly unknown[]): readonly unknown[] {
  let changed = false
  const plain = Array.from(list, (held) => {
    const kept = remade(held) ?? null
    if (!Object.is(kept, held)) changed = true
    return kept
  })
  return changed ? plain : list
}
