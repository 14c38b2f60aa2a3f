import { Failure } from '../../../core/failure.ts'

/** Levels of lists and objects. No change that is meant goes a tenth as deep, and whoever reads JSON gives up at some depth, each at another. */
const maxDepth = 500

/**
 * The value as JSON would give it back: the same object when it is plain already, which is nearly always. So what an append returns
 * is what a later load returns, and a store in memory behaves like one on disk.
 */
export function plainJson(value: unknown): unknown {
  try {
    if (isPlain(value)) return value
    const copy: unknown = JSON.parse(JSON.stringify(value) ?? 'null')
    if (isPlain(copy)) return copy
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw new Failure('change.invalid', `a change must be something that JSON can hold: ${error.message}`, { cause: error })
  }
  throw new Failure('change.invalid', `a change must be something that JSON can hold: at most ${maxDepth} levels`)
}

export function isPlain(value: unknown, level = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isPlainNumber(value)
    case 'object':
      if (value === null) return true
      if (level === maxDepth) return false
      return Array.isArray(value) ? isPlainList(value, level + 1) : isPlainObject(value) && hasPlainFields(value, level + 1)
    default:
      return false
  }
}

function hasPlainFields(object: { readonly [key: string]: unknown }, level: number): boolean {
  for (const key in object) if (!isPlain(object[key], level)) return false
  return true
}

function isPlainList(list: readonly unknown[], level: number): boolean {
  for (let n = 0; n < list.length; n++) if (!isPlain(list[n], level)) return false // holes too: they are undefined
  return true
}

/** One that was written down as `{…}`, or might have been. */
export const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** One that JSON can write, and that comes back as it was. */
export const isPlainNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0)
