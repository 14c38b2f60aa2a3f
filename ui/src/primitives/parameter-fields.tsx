import { useId } from 'react'

/** The changed texts of parameters, by their names. */
export type FieldTexts = Readonly<Record<string, string>>

interface ParameterFieldsProps {
  readonly params: Readonly<Record<string, unknown>>
  readonly texts: FieldTexts
  readonly disabled: boolean
  onChange(texts: FieldTexts): void
}

/** The parameters of a call as fields that can be changed. */
export function ParameterFields({ params, texts, disabled, onChange }: ParameterFieldsProps) {
  const id = useId()
  return (
    <div className="mt-3 space-y-2">
      {Object.entries(params).map(([name, value]) => (
        <div key={name}>
          <label htmlFor={`${id}-${name}`} className="block text-sm text-soft">
            {name.replaceAll('_', ' ')}
          </label>
          <textarea
            id={`${id}-${name}`}
            rows={1}
            disabled={disabled}
            value={texts[name] ?? initialText(value)}
            onChange={(event) => onChange({ ...texts, [name]: event.target.value })}
            className={`field-sizing-content max-h-60 w-full resize-none rounded-md border border-line bg-page px-2.5 py-1.5 text-base md:text-sm ${typeof value === 'string' ? '' : 'font-mono'}`}
          />
        </div>
      ))}
    </div>
  )
}

const initialText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** The parameters with the changes. A sentence for people if a changed field can not be read. */
export function readFields(params: Readonly<Record<string, unknown>>, texts: FieldTexts): Record<string, unknown> | string {
  const changed: Record<string, unknown> = { ...params }
  for (const [name, text] of Object.entries(texts)) {
    if (typeof params[name] === 'string') changed[name] = text
    else
      try {
        changed[name] = JSON.parse(text)
      } catch {
        return `“${name.replaceAll('_', ' ')}” can not be read. Write it as JSON, for example 12, true or ["a", "b"].`
      }
  }
  return changed
}
