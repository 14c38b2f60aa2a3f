/** First and last byte, both included; `all` when nothing, or nothing that we serve, is asked for; `none` when it lies outside. */
export function parseRange(header: string | undefined, size: number): 'all' | 'none' | readonly [start: number, end: number] {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'all' // several ranges, too: the whole holds them
  if (first === '') return Number(last) === 0 || size === 0 ? 'none' : [Math.max(0, size - Number(last)), size - 1]
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)]
  if (last !== '' && Number(last) < start) return 'all' // not a range at all
  return start >= size ? 'none' : [start, end]
}
