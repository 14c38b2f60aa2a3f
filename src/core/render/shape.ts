import type { Json } from '../json.ts'
import type { Caps } from './caps.ts'
import { cutAt, oneLine } from './text.ts'

/** What a JSON value is made of, without what it says: enough to ask for the right piece of it. */
export function shapeOf(value: Json, limits: Caps): string {
  const out: string[] = []
  let size = 0
  const add = (line: string) => {
    size += line.length + 1
    if (size <= limits.shape) out.push(line)
    return size <= limits.shape
  }
  describe(value, '', '', 1, limits, add)
  return cutAt(out.join('\n'), limits.shape)
}

function describe(value: Json, label: string, indent: string, depth: number, limits: Caps, add: (line: string) => boolean): boolean {
  if (!add(`${indent}${label}${kindOf(value)}`)) return false
  if (typeof value !== 'object' || value === null || depth >= limits.shapeDepth) return true
  const entries = Array.isArray(value) ? groupAlike(value) : Object.entries(value)
  for (const [key, item] of entries.slice(0, limits.shapeItems)) {
    if (!describe(item, `${oneLine(key, 60)}: `, `${indent}  `, depth + 1, limits, add)) return false
  }
  const more = entries.length - limits.shapeItems
  return more <= 0 || add(`${indent}  ... ${more} more`)
}

/** Items built alike are told once, by the first of them: `[0-399]`. */
function groupAlike(items: readonly Json[]): readonly (readonly [label: string, first: Json])[] {
  const groups: { from: number; to: number; build: string }[] = []
  items.forEach((item, index) => {
    const build = structureOf(item)
    const open = groups.at(-1)
    if (open?.build === build) open.to = index
    else groups.push({ from: index, to: index, build })
  })
  return groups.map(({ from, to }) => [from === to ? `[${from}]` : `[${from}-${to}]`, items[from] as Json])
}

function structureOf(value: Json): string {
  if (typeof value !== 'object' || value === null) return typeof value
  return Array.isArray(value) ? 'list' : JSON.stringify(Object.keys(value))
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return `str[${value.length}]`
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  return Array.isArray(value) ? `list[${value.length}]` : `dict[${Object.keys(value).length}]`
}
