const whole = new Intl.NumberFormat('en-US')

/** A number of tokens or calls, such as 12,345. */
export const formatCount = (count: number): string => whole.format(Math.round(count))

/** A short number of tokens, such as 12.3k. */
export function formatShort(count: number): string {
  if (count < 1_000) return String(Math.round(count))
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

export const formatPercent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`

/**
 * Formats an amount of money, which is given in billionths of a US dollar. It has six decimals, as in the command line, so that the cost of
 * a block and the cost of a conversation can be compared. An amount of 0 is `$0`. `unpriced` is the number of calls whose price is not
 * known. If there are such calls, the amount is shown as a minimum, or as `?` if no price is known.
 */
export function formatMoney(billionths: number | null, unpriced = 0): string {
  if (billionths === null || (billionths === 0 && unpriced > 0)) return '?'
  if (billionths === 0) return '$0'
  return `${unpriced > 0 ? '≥ ' : ''}$${(billionths / 1e9).toFixed(6)}`
}

/** The size of a text or a file, such as 1.2 KB. */
export function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** The time of day, with seconds. */
export function formatTime(ts: string | undefined): string {
  const time = ts === undefined ? Number.NaN : Date.parse(ts)
  return Number.isNaN(time) ? '' : new Date(time).toLocaleTimeString('en-GB')
}
