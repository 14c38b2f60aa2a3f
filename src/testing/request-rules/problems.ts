import { isObject } from '../../core/json.ts'

/** Collects what is wrong with a request. Each problem names the place and the rule. */
export interface Problems {
  readonly found: readonly string[]
  /** Adds a problem unless `ok` is true. Returns `ok`. */
  require(ok: boolean, place: string, rule: string): boolean
}

export function createProblems(): Problems {
  const found: string[] = []
  return {
    found,
    require(ok, place, rule) {
      if (!ok) found.push(`${place}: ${rule}`)
      return ok
    },
  }
}

export type Fields = { readonly [name: string]: unknown }

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
export const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})
export const isFilled = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** Every string of a request must be well-formed. Half a surrogate pair is an error for most JSON parsers. */
export function checkTexts(value: unknown, place: string, problems: Problems): void {
  if (typeof value === 'string') problems.require(value.isWellFormed(), place, 'must not contain half of a surrogate pair')
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) checkTexts(item, `${place}[${index}]`, problems)
  else if (isObject(value)) for (const [name, item] of Object.entries(value)) checkTexts(item, `${place}.${name}`, problems)
}

/** The rules of a provider for the tools of a request: the pattern of names, and how many tools are allowed. */
interface ToolRules {
  readonly name: RegExp
  readonly most: number
}

export interface CheckedTool {
  readonly name: unknown
  readonly description: unknown
  readonly schema: unknown
}

/** Checks names, descriptions and schemas of tools. No provider accepts two tools with one name. */
export function checkTools(tools: readonly CheckedTool[], { name: pattern, most }: ToolRules, problems: Problems): void {
  problems.require(tools.length <= most, 'tools', `at most ${most} tools are allowed`)
  problems.require(new Set(tools.map(({ name }) => name)).size === tools.length, 'tools', 'every name once')
  for (const { name, description, schema } of tools) {
    const place = `tool ${String(name)}`
    problems.require(typeof name === 'string' && pattern.test(name), place, `the name must match ${pattern.source}`)
    problems.require(description === undefined || isFilled(description), place, 'a description must not be empty')
    const { type, properties, anyOf, oneOf, allOf, required } = fieldsOf(schema)
    problems.require(type === 'object', place, 'the schema must be of the type object')
    problems.require(
      anyOf === undefined && oneOf === undefined && allOf === undefined,
      place,
      'the schema must not have anyOf, oneOf or allOf at its top level',
    )
    const names = Object.keys(fieldsOf(properties))
    for (const parameter of names)
      problems.require(/^[a-zA-Z0-9_.-]{1,64}$/.test(parameter), place, `the parameter ${parameter} has an invalid name`)
    problems.require(
      listOf(required).every((parameter) => names.includes(String(parameter))),
      place,
      'a required parameter is not in the schema',
    )
  }
}

/** The size of a base64 text in bytes, or undefined if the text is not base64. */
export function base64Bytes(text: unknown): number | undefined {
  if (typeof text !== 'string' || text === '' || text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  // looks for one wrong character, because an expression that matches the whole text would overflow the stack for several megabytes
  if (/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding))) return undefined
  return (text.length / 4) * 3 - padding
}

/** The width and height of a PNG file. Undefined for other bytes. */
export function pngSize(base64: string): { readonly width: number; readonly height: number } | undefined {
  const bytes = Buffer.from(base64.slice(0, 64), 'base64')
  if (bytes.length < 24 || bytes.toString('latin1', 1, 4) !== 'PNG') return undefined
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** Whether the bytes begin like a file of this type. Providers decode images, and refuse a request with an image that they can not decode. */
export function beginsLike(mediaType: string, base64: string): boolean {
  const start = Buffer.from(base64.slice(0, 24), 'base64').toString('latin1')
  const signature = {
    'image/png': '\u0089PNG',
    'image/jpeg': '\u00ff\u00d8',
    'image/gif': 'GIF8',
    'image/webp': 'RIFF',
    'application/pdf': '%PDF',
  }[mediaType]
  return signature === undefined || start.startsWith(signature)
}
