import { useEffect, useState } from 'react'
import { chooseTheme, readTheme, type Theme } from '../data/theme.ts'

const themes: readonly (readonly [Theme, string])[] = [
  ['system', 'As the device'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** The settings of this browser. */
export function SettingsPage() {
  const [theme, setTheme] = useState(readTheme)
  useEffect(() => {
    document.title = 'Settings · Daybook'
  }, [])
  return (
    <section className="mx-auto h-full max-w-3xl overflow-y-auto px-4 py-6" aria-label="Settings">
      <h1 className="text-xl font-semibold">Settings</h1>
      <fieldset className="mt-5">
        <legend className="font-medium">Colours</legend>
        <div className="mt-2 flex flex-wrap gap-2">
          {themes.map(([value, label]) => (
            <label
              key={value}
              className="flex items-center gap-2 rounded-lg border border-line px-3 py-1.5 text-sm has-checked:border-accent has-checked:bg-tint"
            >
              <input
                type="radio"
                name="theme"
                className="accent-(--accent)"
                checked={theme === value}
                onChange={() => {
                  setTheme(value)
                  chooseTheme(value)
                }}
              />
              {label}
            </label>
          ))}
        </div>
      </fieldset>
    </section>
  )
}
