import type { InfoView, MachineCheck } from 'daybook/client'
import { useEffect, useState } from 'react'
import { chooseModel, readModel } from '../data/model-choice.ts'
import { client } from '../data/session.ts'
import { chooseTheme, readTheme, type Theme } from '../data/theme.ts'
import { MachineChecks } from './machine-checks.tsx'

const themes: readonly (readonly [Theme, string])[] = [
  ['system', 'Same as the device'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

/** The settings of this browser, and what the server and its machine offer. */
export function SettingsPage() {
  const [theme, setTheme] = useState(readTheme)
  const [model, setModel] = useState(readModel)
  const [info, setInfo] = useState<InfoView>()
  const [checks, setChecks] = useState<readonly MachineCheck[]>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    document.title = 'Settings · Daybook'
    let left = false
    async function load() {
      const about = await client.info()
      if (left) return
      setInfo(about)
      if (!about.operator) return
      const { checks: made } = await client.doctor()
      if (!left) setChecks(made)
    }
    load().catch((error: unknown) => !left && setProblem(error instanceof Error ? error.message : String(error)))
    return () => {
      left = true
    }
  }, [])
  const models = info?.models ?? []
  return (
    <section className="mx-auto h-full max-w-3xl overflow-y-auto px-4 py-6" aria-label="Settings">
      <h1 className="text-xl font-semibold">Settings</h1>
      <Choice
        legend="Colours"
        name="theme"
        options={themes}
        value={theme}
        onChoose={(value) => {
          setTheme(value)
          chooseTheme(value)
        }}
      />
      {info && models.length > 0 && (
        <Choice
          legend="Model for new questions"
          name="model"
          options={[['', `${info.model} (default)`], ...models.map((name) => [name, name] as const)]}
          value={model !== undefined && models.includes(model) ? model : ''}
          onChoose={(value) => {
            const chosen = value === '' ? undefined : value
            setModel(chosen)
            chooseModel(chosen)
          }}
        />
      )}
      {info && (
        <dl className="mt-6 grid grid-cols-[max-content_1fr] gap-x-6 gap-y-1 text-sm">
          <dt className="text-soft">Version</dt>
          <dd>{info.version}</dd>
          <dt className="text-soft">Signed in as</dt>
          <dd>{info.operator ? `${info.user} (operator)` : info.user}</dd>
          {models.length === 0 && (
            <>
              <dt className="text-soft">Model</dt>
              <dd>{info.model}</dd>
            </>
          )}
        </dl>
      )}
      {checks && checks.length > 0 && <MachineChecks checks={checks} />}
      {problem !== undefined && (
        <p role="alert" className="mt-6 text-sm text-bad">
          {problem}
        </p>
      )}
    </section>
  )
}

interface ChoiceProps<T extends string> {
  readonly legend: string
  readonly name: string
  readonly options: readonly (readonly [T, string])[]
  readonly value: T
  readonly onChoose: (value: T) => void
}

function Choice<T extends string>({ legend, name, options, value: chosen, onChoose }: ChoiceProps<T>) {
  return (
    <fieldset className="mt-5">
      <legend className="font-medium">{legend}</legend>
      <div className="mt-2 flex flex-wrap gap-2">
        {options.map(([value, label]) => (
          <label
            key={value}
            className="flex items-center gap-2 rounded-lg border border-line px-3 py-1.5 text-sm has-checked:border-accent has-checked:bg-tint"
          >
            <input type="radio" name={name} className="accent-(--accent)" checked={chosen === value} onChange={() => onChoose(value)} />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
