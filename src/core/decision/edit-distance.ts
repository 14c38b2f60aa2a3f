/**
 * The smallest number of inserted and deleted characters with which `a` becomes `b`. Undefined when it is greater than `limit`. The search
 * takes at most `limit` × (length + limit) steps (E. Myers, "An O(ND) difference algorithm", 1986).
 */
export function editDistance(a: string, b: string, limit: number): number | undefined {
  if (Math.abs(a.length - b.length) > limit) return undefined
  const middle = limit + 1
  // For each diagonal: the furthest index in `a` that can be reached with `edits` edits.
  const reached = new Int32Array(2 * limit + 3)
  for (let edits = 0; edits <= limit; edits++) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const below = reached[middle + diagonal + 1] as number
      const above = reached[middle + diagonal - 1] as number
      const inserts = diagonal === -edits || (diagonal !== edits && above < below)
      let at = inserts ? below : above + 1
      while (at < a.length && at - diagonal < b.length && a.charCodeAt(at) === b.charCodeAt(at - diagonal)) at++
      reached[middle + diagonal] = at
      if (at >= a.length && at - diagonal >= b.length) return edits
    }
  }
  return undefined
}

const maxLength = 80

/**
 * Up to three known tool ids that the model may have meant by `id`. Ids that differ only before the last dot come first, such as
 * `web.search` for `net.search`. Then come ids with a similar spelling.
 */
export function suggestIds(id: string, known: readonly string[]): readonly string[] {
  const wanted = id.slice(0, maxLength).toLowerCase()
  const limit = Math.max(2, Math.floor(wanted.length / 3))
  return known
    .flatMap((candidate) => {
      const name = candidate.toLowerCase()
      if (nameOf(name) === nameOf(wanted)) return [{ candidate, distance: 0 }]
      const distance = editDistance(wanted, name.slice(0, maxLength), limit)
      return distance === undefined ? [] : [{ candidate, distance }]
    })
    .sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate)
}

const nameOf = (id: string): string => id.slice(id.lastIndexOf('.') + 1)
