const key = 'daybook.panel-width'

/** The width that a person gave to the panel beside the conversation, in pixels. Undefined means the usual width. */
export function readPanelWidth(): number | undefined {
  const width = Number(localStorage.getItem(key) ?? Number.NaN)
  return Number.isFinite(width) && width > 0 ? width : undefined
}

export function writePanelWidth(width: number | undefined): void {
  if (width === undefined) localStorage.removeItem(key)
  else localStorage.setItem(key, String(width))
}
