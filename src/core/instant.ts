let latest = { text: '', milliseconds: Number.NaN }

/** An ISO time as milliseconds; NaN when it is none. A round asks several times for the instant it runs at: that one is read once. */
export function instantOf(text: string): number {
  if (text !== latest.text) latest = { text, milliseconds: Date.parse(text) }
  return latest.milliseconds
}
