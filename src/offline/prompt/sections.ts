/** What ANNOUNCE says of the turn. */
export interface Announce {
  readonly roundsLeft: number
  /** The last call of the turn: no tools. */
  readonly lastCall: boolean
  readonly date: string | undefined
  readonly plan: AnnouncePlan | undefined
}

/** The plan whose steps can be marked. */
export interface AnnouncePlan {
  readonly id: string
  readonly steps: readonly { readonly mark: string; readonly text: string }[]
}

export const isAnnounce = (text: string): boolean => /^╔═+╗\n║ ANNOUNCE — Iteration /.test(text)

export function parseAnnounce(text: string): Announce {
  const left = /^ {2}iterations .* (\d+) remaining/m.exec(text)?.[1]
  return {
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

/** A source that may be cited, and the file it stands for. */
export interface CitableSource {
  readonly sid: number
  readonly title: string
  readonly mime: string
  readonly place: string
}

const sourceLine = /^SID:(\d+) {2}"(.*)" {2,}(\S+) {2}(.+?) {2}~[\d.]+K? tok$/

/** The rows of SOURCES POOL; none when the part is something else. */
export function parseSources(text: string): readonly CitableSource[] {
  if (!/^━+\n SOURCES POOL {2}\(/.test(text)) return []
  return text.split('\n').flatMap((line) => {
    const [, sid, title = '', mime = '', place = ''] = sourceLine.exec(line) ?? []
    return sid === undefined ? [] : [{ sid: Number(sid), title: title.trim(), mime, place }]
  })
}

/** Long addresses are shown cut. */
export function sidOf(path: string, sources: readonly CitableSource[]): number | undefined {
  return sources.find(({ place }) => place === path || (place.endsWith('…') && path.startsWith(place.slice(0, -1))))?.sid
}

/** The tools that the system text offers, with the names of their parameters in order. */
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

/** The first tool of this name, whatever namespace it lives in. */
export const findTool = (catalog: ToolCatalog, name: string): string | undefined =>
  [...catalog.keys()].find((id) => id.endsWith(`.${name}`))
