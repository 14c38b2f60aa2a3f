/** The colours that a person chose. `system` follows the setting of the device. */
export type Theme = 'system' | 'light' | 'dark'

const key = 'daybook.theme'

export function readTheme(): Theme {
  const stored = localStorage.getItem(key)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Stores the theme and applies it. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  applyTheme(theme)
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
