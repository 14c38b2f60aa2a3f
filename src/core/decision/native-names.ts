import { hashText } from '../hash.ts'

/** The longest name of a tool that all providers accept. */
const maxLength = 64
const hashLength = 12

/**
 * The names under which providers know the tools. Providers accept no dots, so `react.read` becomes `react__read`. A name that is too long,
 * or that an earlier tool already has, ends with a hash of the id.
 */
export function nativeNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  for (const id of ids) {
    const plain = plainName(id)
    const name = plain.length > maxLength || taken.has(plain) ? withHash(plain, id) : plain
    taken.add(name)
    names.set(id, name)
  }
  return names
}

const plainName = (id: string): string => id.replaceAll('.', '__').replace(/[^A-Za-z0-9_-]/g, '_')

const withHash = (name: string, id: string): string =>
  `${name.slice(0, maxLength - hashLength - 1)}_${hashText(id).toString(16).padStart(hashLength, '0').slice(-hashLength)}`

/**
 * The id of the tool that a model means with a name. The model may also write the id itself. A name of no tool is written like an id, so
 * that the notice to the model contains a name that it knows from the timeline.
 */
export function toolIdOf(name: string, ids: readonly string[]): string {
  const written = name.trim()
  if (ids.includes(written)) return written
  const known = namesOf(ids).get(written)
  return known ?? (written.startsWith('mcp__') ? written.replace('__', '.').replace('__', '.') : written.replace('__', '.'))
}

let latest: { readonly ids: readonly string[]; readonly byName: ReadonlyMap<string, string> } = { ids: [], byName: new Map() }

/** The ids by name. The last result is kept, because all calls of an agent have the same list. */
function namesOf(ids: readonly string[]): ReadonlyMap<string, string> {
  if (latest.ids !== ids) latest = { ids, byName: new Map([...nativeNames(ids)].map(([id, name]) => [name, id])) }
  return latest.byName
}
