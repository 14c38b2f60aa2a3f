import { useId } from 'react'
import { cutContent, isCutText } from './cut-parameters.ts'

/** The changed texts of parameters, by their names. */
export type FieldTexts = Readonly<Record<string, string>>

interface ParameterFieldsProps {
  readonly params: Readonly<Record<string, unknown>>
  /** The names of the parameters that are shown at first. A click shows the other parameters. Undefined if all parameters are shown. */
  readonly main: readonly string[] | undefined
  readonly texts: FieldTexts
  readonly disabled: boolean
  onChange(texts: FieldTexts): void
}

/** The parameters of a call as fields that can be changed. */
export function ParameterFields({ params, main, ...fields }: ParameterFieldsProps) {
  const entries = Object.entries(params)
  const shown = main ? entries.filter(([name]) => main.includes(name)) : entries
  const others = entries.filter((entry) => !shown.includes(entry))
  return (
    <div className="mt-3 space-y-2">
      <Fields entries={shown} {...fields} />
      {others.length > 0 && (
        <details className="text-sm text-soft">
          <summary className="w-fit cursor-pointer rounded-sm hover:text-ink">More settings</summary>
          <div className="mt-2 space-y-2">
            <Fields entries={others} {...fields} />
          </div>
        </details>
      )}
    </div>
  )
}

interface FieldsProps extends Pick<ParameterFieldsProps, 'texts' | 'disabled' | 'onChange'> {
  readonly entries: readonly (readonly [name: string, value: unknown])[]
}

function Fields({ entries, texts, disabled, onChange }: FieldsProps) {
  const id = useId()
  return entries.map(([name, value]) => (
    <div key={name}>
      <label htmlFor={`${id}-${name}`} className="block text-sm text-soft">
        {labelOf(name)}
      </label>
      <textarea
        id={`${id}-${name}`}
        rows={1}
        disabled={disabled}
        value={texts[name] ?? initialText(value)}
        onChange={(event) => onChange({ ...texts, [name]: event.target.value })}
        className={`field-sizing-content max-h-60 w-full resize-none rounded-md border border-line bg-page px-2.5 py-1.5 text-base text-ink md:text-sm ${typeof value === 'string' ? '' : 'font-mono'}`}
      />
    </div>
  ))
}

/** The name of a parameter as a label, such as `Order number` for `order_number`. */
function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const initialText = (value: unknown) => {
  if (typeof value !== 'string') return isCutText(value) ? `${value.preview} …` : (JSON.stringify(value) ?? '')
  const start = cutContent(value)
  return start === undefined ? value : `${start} …`
}

/** The parameters with the values of the changed fields. If a changed field can not be parsed, the result is a sentence for people. */
export function readFields(params: Readonly<Record<string, unknown>>, texts: FieldTexts): Record<string, unknown> | string {
  const changed: Record<string, unknown> = { ...params }
  for (const [name, text] of Object.entries(texts)) {
    if (typeof params[name] === 'string') changed[name] = text
    else
      try {
        changed[name] = JSON.parse(text)
      } catch {
        return `“${labelOf(name)}” can not be read. Write it as JSON, for example 12, true or ["a", "b"].`
      }
  }
  return changed
}
