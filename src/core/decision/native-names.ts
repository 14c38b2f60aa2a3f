import { hashText } from '../hash.ts'

/** The longest name of a tool that all providers accept. */
const maxLength = 64
const hashLength = 12

/**
 * The names under which providers know the tools. Providers accept no dots, so `react.read` becomes `react__read`. A name that is too long,
 * or that several tools would have, ends with a hash of the id. With this hash, the name of a tool does not depend on the order of the
 * tools.
 */
export function nativeNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(plainName(id), (counts.get(plainName(id)) ?? 0) + 1)
  return new Map(
    ids.map((id) => {
      const plain = plainName(id)
      return [id, plain.length > maxLength || counts.get(plain) !== 1 ? withHash(plain, id) : plain]
    }),
  )
}

const plainName = (id: string): string => id.replaceAll('.', '__').replace(/[^A-Za-z0-9_-]/g, '_')

const withHash = (name: string, id: string): string =>
  `${name.slice(0, maxLength - hashLength - 1)}_${hashText(id).toString(16).padStart(hashLength, '0').slice(-hashLength)}`

/**
 * The id of the tool that a model means with a name. `ids` are the ids of all tools in the request. The name may also be the id itself,
 * differ in upper and lower case, or have a prefix that the model knows from its training. If no tool has the name, the name is returned in
 * the form of an id. The notice to the model then has a name in the form that the timeline uses.
 */
export function toolIdOf(name: string, ids: readonly string[]): string {
  const written = name.trim()
  if (ids.includes(written)) return written
  const { byName, byLooseName } = namesOf(ids)
  return byName.get(written) ?? byLooseName().get(looseName(written)) ?? likeId(written)
}

const likeId = (name: string): string => (name.startsWith('mcp__') ? name.replace('__', '.').replace('__', '.') : name.replace('__', '.'))

/** Prefixes that models write before the names of tools, because their training data contains them. */
const prefixes = ['functions.', 'default_api.', 'default_api:']

function looseName(name: string): string {
  const prefix = prefixes.find((each) => name.startsWith(each)) ?? ''
  return name.slice(prefix.length).toLowerCase().replaceAll('.', '__')
}

interface ToolNames {
  readonly byName: ReadonlyMap<string, string>
  /** The ids of the tools by their names in lower case. A name that two tools would have is left out. */
  byLooseName(): ReadonlyMap<string, string>
}

let latest: { readonly ids: readonly string[]; readonly names: ToolNames } | undefined

/**
 * The ids of the tools by their names. The latest result is remembered, because all model calls of an agent have the same list of tools.
 */
function namesOf(ids: readonly string[]): ToolNames {
  if (latest?.ids !== ids) latest = { ids, names: createNames(ids) }
  return latest.names
}

function createNames(ids: readonly string[]): ToolNames {
  const byName = new Map([...nativeNames(ids)].map(([id, name]) => [name, id]))
  return {
    byName,
    byLooseName() {
      const loose = [...byName].map(([name, id]) => [looseName(name), id] as const)
      return new Map(loose.filter(([name]) => loose.filter(([other]) => other === name).length === 1))
    },
  }
}
