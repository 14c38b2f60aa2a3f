export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** Undefined when the text is not JSON: model output, tool output and imported files may hold anything. */
export function parseJson(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Without the keys whose value is undefined, so that what is built equals what is read back. The same object when there are none. */
export function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const whole = value as { [K in keyof T]: Exclude<T[K], undefined> } // until a key says otherwise
  for (const key in whole) if (whole[key] === undefined) return copied(whole)
  return whole
}

function copied<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T
}
