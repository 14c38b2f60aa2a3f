import { Failure } from '../../core/failure.ts'

/**
 * The value as JSON would give it back: the same object when it is plain already, which is nearly always. So what an append returns
 * is what a later load returns, and a store in memory behaves like one on disk.
 */
export function plainJson(value: unknown): unknown {
  try {
    return isPlain(value) ? value : (JSON.parse(JSON.stringify(value) ?? 'null') as unknown)
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw new Failure('change.invalid', `a change must be something that JSON can hold: ${error.message}`, { cause: error })
  }
}

const isPlain = (value: unknown): boolean => isPlainLeaf(value) || isPlainHolder(value)

function isPlainLeaf(value: unknown): boolean {
  if (typeof value === 'number') return isPlainNumber(value)
  return typeof value === 'string' || typeof value === 'boolean' || value === null
}

function isPlainHolder(value: unknown): boolean {
  if (Array.isArray(value)) return isPlainList(value)
  if (!isPlainObject(value)) return false
  for (const key in value) if (!isPlain(value[key])) return false
  return true
}

function isPlainList(list: readonly unknown[]): boolean {
  for (let n = 0; n < list.length; n++) if (!isPlain(list[n])) return false // holes too: they are undefined
  return true
}

/** One that was written down as `{…}`, or might have been. */
export const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** One that JSON can write, and that comes back as it was. */
export const isPlainNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0)
