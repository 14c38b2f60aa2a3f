export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** How deep values may be nested. Whoever walks or prints one does so on the stack, and a tool can write 10,000 levels in 20 KB. */
export const maximumJsonDepth = 256

/** Undefined when the text is not JSON, or nested too deep to be walked: model output, tool output and files may hold anything. */
export function parseJson(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined
  try {
    const value = JSON.parse(text) as Json
    return isTooDeep(text) ? undefined : value
  } catch {
    return undefined
  }
}

const [quote, openList, closeList, openObject, closeObject] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d]

/** Of a text that is JSON. */
function isTooDeep(text: string): boolean {
  if (text.length <= maximumJsonDepth) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === quote) at = endOfString(text, at)
    else if (character === openList || character === openObject) depth++
    else if (character === closeList || character === closeObject) depth--
    if (depth > maximumJsonDepth) return true
  }
  return false
}

/** Where the string that begins here ends. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Without the keys whose value is undefined, so that what is built equals what is read back. The same object when there are none. */
export function omitUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const whole = value as { [K in keyof T]: Exclude<T[K], undefined> } // until a key says otherwise
  for (const key in whole) if (whole[key] === undefined) return copied(whole)
  return whole
}

function copied<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T
}
