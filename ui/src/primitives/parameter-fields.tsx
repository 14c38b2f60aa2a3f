import { useId } from 'react'
import { cutContent, isCutText } from './cut-parameters.ts'

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
            {labelOf(name)}
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

/** The parameters with the changes. A sentence for people if a changed field can not be read. */
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
