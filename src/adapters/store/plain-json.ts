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

function isPlain(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return isPlainList(value)
  if (Object.getPrototypeOf(value) !== Object.prototype) return false
  for (const key in value) if (!isPlain((value as Record<string, unknown>)[key])) return false // every object may be looked at by key
  return true
}

function isPlainList(list: readonly unknown[]): boolean {
  for (let n = 0; n < list.length; n++) if (!isPlain(list[n])) return false // holes too: they are undefined
  return true
}
