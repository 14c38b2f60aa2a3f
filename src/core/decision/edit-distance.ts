/**
 * How many characters must be inserted or deleted to make `b` of `a`; undefined when more than `limit`. Costs at most
 * `limit` × (length + limit) steps, whatever the texts (E. Myers, 1986: walk the diagonals, furthest first).
 */
export function editDistance(a: string, b: string, limit: number): number | undefined {
  if (Math.abs(a.length - b.length) > limit) return undefined
  const middle = limit + 1
  const reached = new Int32Array(2 * limit + 3) // by diagonal: how far into `a` one gets with the edits made so far
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
