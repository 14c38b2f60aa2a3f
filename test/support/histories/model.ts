/** The contents of files, by path below `files/`. */
export type Tree = Readonly<Record<string, string>>

/** The changes that a program makes: the new contents of files, or undefined for files that it deletes. */
export type ProgramChanges = Readonly<Record<string, string | undefined>>

/** One action of a turn that may change its files. Turns are given by their position in the conversation. */
export type Action =
  | { readonly do: 'write'; readonly rel: string; readonly content: string }
  | { readonly do: 'patch'; readonly rel: string; readonly content: string }
  | { readonly do: 'program'; readonly changes: ProgramChanges }
  | {
      readonly do: 'checkout'
      readonly mode: 'replace' | 'overlay'
      readonly force: boolean
      readonly sources: readonly { readonly turn: number; readonly rel: string }[]
    }

export type Outcome = 'ok' | 'missing' | 'nonempty'

/** The expected state after a finished turn. */
export interface FinishedTurn {
  readonly turnId: string
  /** The version that the turn published. Undefined when it published no version. */
  readonly version: Tree | undefined
  /** The newest version of the conversation after this turn. */
  readonly lineage: Tree
}

/** The files of a running turn. */
export interface TurnModel {
  readonly files: () => Tree
  /** Applies an action and returns its outcome. */
  apply(action: Action): Outcome
  /** The version that the turn publishes. */
  publish(): { readonly version: Tree | undefined; readonly lineage: Tree }
}

/** A model of the files of a turn, on plain objects. `earlier` are the finished turns of the conversation. */
export function beginTurnModel(earlier: readonly FinishedTurn[]): TurnModel {
  const before = earlier.at(-1)?.lineage ?? {}
  let files: Tree = {}
  let laid: Tree = {}
  let whole = new Set<string>()
  let checkedOut = false
  const held = new Set<string>()
  const made = new Set<string>()
  const undone = new Set<string>()

  const isKept = (rel: string) => !isExcluded(rel) || made.has(rel) || Object.hasOwn(laid, rel)

  function put(rel: string, content: string): Outcome {
    files = { ...files, [rel]: content }
    made.add(rel)
    return 'ok'
  }

  function checkout({ mode, force, sources }: Action & { do: 'checkout' }): Outcome {
    const unsaved = Object.keys(files).filter((rel) => isKept(rel) && laid[rel] !== files[rel])
    if (mode === 'replace' && unsaved.length > 0 && !force) return 'nonempty'
    const trees = sources.map(({ turn, rel }) => treeWithin(earlier[turn]?.version ?? {}, rel))
    if (trees.some((tree) => Object.keys(tree).length === 0)) return 'missing'
    const found: Tree = Object.assign({}, ...trees)
    if (mode === 'replace') for (const rel of unsaved) undone.add(rel)
    files = mode === 'replace' ? found : { ...files, ...found }
    laid = mode === 'replace' ? found : { ...laid, ...found }
    if (mode === 'replace') whole = new Set()
    for (const [at, { rel }] of sources.entries()) {
      if (!rel.includes('/')) for (const path of Object.keys(trees[at] ?? {})) whole.add(scopeOf(path))
    }
    for (const rel of Object.keys(found)) held.add(rel)
    checkedOut = true
    return 'ok'
  }

  return {
    files: () => files,
    apply(action) {
      switch (action.do) {
        case 'write':
          return put(action.rel, action.content)
        case 'patch':
          return Object.hasOwn(files, action.rel) ? put(action.rel, action.content) : 'missing'
        case 'program': {
          const next = { ...files, ...action.changes }
          files = Object.fromEntries(Object.entries(next).filter((entry): entry is [string, string] => entry[1] !== undefined))
          return 'ok'
        }
        case 'checkout':
          return checkout(action)
        default:
          return action satisfies never
      }
    },
    publish() {
      const written = [...made].filter((rel) => !undone.has(rel))
      const isUsed = Object.keys(files).length > 0 || checkedOut || written.length > 0
      if (!isUsed) return { version: undefined, lineage: before }
      const deleted = new Set([...held, ...written])
      const others = Object.entries(before).filter(([rel]) => !whole.has(scopeOf(rel)) && !deleted.has(rel))
      const own = Object.entries(files).filter(([rel]) => isKept(rel))
      const lineage = Object.fromEntries([...others, ...own])
      return { version: lineage, lineage }
    },
  }
}

export const treeWithin = (tree: Tree, rel: string): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => rel === '' || path === rel || path.startsWith(`${rel}/`)))

const scopeOf = (rel: string) => rel.split('/')[0] as string

const isExcluded = (rel: string) => rel.split('/').some((segment) => segment === 'node_modules' || segment === 'logs')
