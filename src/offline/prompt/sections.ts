/** The values in the announce at the end of the prompt. */
export interface Announce {
  /** The number of the round in its turn, from 1. */
  readonly round: number
  readonly roundsLeft: number
  /** Whether this is the last call of the turn. If true, the model must answer now. */
  readonly lastCall: boolean
  readonly date: string | undefined
  readonly plan: AnnouncePlan | undefined
}

/** The current plan with the state of each step as a character, such as `✓`. */
export interface AnnouncePlan {
  readonly id: string
  readonly steps: readonly { readonly mark: string; readonly text: string }[]
}

export const isAnnounce = (text: string): boolean => /^╔═+╗\n║ ANNOUNCE — Iteration /.test(text)

export function parseAnnounce(text: string): Announce {
  const left = /^ {2}iterations .* (\d+) remaining/m.exec(text)?.[1]
  return {
    round: Number(/^║ ANNOUNCE — Iteration (\d{1,6})/m.exec(text)?.[1] ?? 1),
    roundsLeft: left === undefined ? 0 : Number(left),
    lastCall: /^║ ANNOUNCE — Iteration .* — wrap-up *║$/m.test(text),
    date: /^ {2}current_utc_date: (\S+)$/m.exec(text)?.[1],
    plan: parsePlan(text),
  }
}

function parsePlan(text: string): AnnouncePlan | undefined {
  const [, id, rest = ''] = /^ {4}• plan_id=(\S+) \(current\)\n((?: {6}.*\n?)*)/m.exec(text) ?? []
  if (id === undefined) return undefined
  const steps = [...rest.matchAll(/^ {6}([✓✗…□]) \[\d+\] (.*)$/gm)].map(([, mark, step]) => ({
    mark: mark as string,
    text: step as string,
  }))
  return { id, steps }
}

/** A source that can be cited: a row of the section SOURCES POOL. */
export interface CitableSource {
  readonly sid: number
  readonly mime: string
  /** A logical path or a URL. If it is long, the prompt shows only its beginning, followed by `…`. */
  readonly location: string
}

export const isSourcesPool = (text: string): boolean => /^━+\n SOURCES POOL {2}\(/.test(text)

export function parseSources(text: string): readonly CitableSource[] {
  return text.split('\n').flatMap((line) => {
    // A row has these fields: SID, title, media type, location, tokens. Between two fields there are at least two spaces. A field never
    // contains two spaces in a row.
    const [start = '', , mime = '', location = '', ...tokens] = line.split(/ {2,}/)
    const sid = /^SID:(\d+)$/.exec(start)?.[1]
    return sid === undefined || tokens.length !== 1 ? [] : [{ sid: Number(sid), mime, location }]
  })
}

/** The SID of the source with this path. Undefined when the source is not in the pool. */
export function sidOf(path: string, sources: readonly CitableSource[]): number | undefined {
  return sources.find(({ location }) => location === path || (location.endsWith('…') && path.startsWith(location.slice(0, -1))))?.sid
}

/** The tools in the system text, by id, with the names of their parameters in order. */
export type ToolCatalog = ReadonlyMap<string, readonly string[]>

export function parseCatalog(system: string): ToolCatalog {
  const usages = system.matchAll(/^📞 Usage: ([\w-]+(?:\.[\w-]+)+)\(([^)\n]*)\)$/gm)
  return new Map(
    [...usages].map(([, id, names]) => [
      id as string,
      (names as string)
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ]),
  )
}

/** The id of the first tool with this name. A tool id is `namespace.name`. */
export const findTool = (catalog: ToolCatalog, name: string): string | undefined =>
  [...catalog.keys()].find((id) => id.endsWith(`.${name}`))
