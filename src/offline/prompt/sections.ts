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
