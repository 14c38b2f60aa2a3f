/** The parameters of a call as a list that people can read. */
export function Parameters({ params }: { readonly params: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(params)
  if (entries.length === 0) return null
  return (
    <dl className="grid grid-cols-[minmax(5rem,max-content)_1fr] gap-x-3 gap-y-1 pt-1">
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-faint">{name.replaceAll('_', ' ')}</dt>
          <dd className="max-h-60 overflow-y-auto whitespace-pre-wrap wrap-anywhere">{valueText(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A value as text for people. Texts and lists of texts are shown as they are, and other values as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('\n')
  return JSON.stringify(value, undefined, 2) ?? ''
}
