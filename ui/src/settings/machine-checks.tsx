import type { MachineCheck } from 'daybook/client'
import { Check, Minus, X } from 'lucide-react'

/** The checks of `daybook doctor` on the machine of the server. */
export function MachineChecks({ checks }: { readonly checks: readonly MachineCheck[] }) {
  return (
    <section className="mt-6" aria-label="This machine">
      <h2 className="font-medium">This machine</h2>
      <ul className="mt-2 divide-y divide-line rounded-lg border border-line text-sm">
        {checks.map(({ name, ok, required, found, advice }) => (
          <li key={name} className="flex gap-2.5 px-3 py-2">
            <State ok={ok} required={required} />
            <div className="min-w-0">
              <span className="font-medium">{name}</span> <span className="text-soft wrap-anywhere">{found}</span>
              {!ok && advice !== undefined && <p className="text-soft wrap-anywhere">To use it: {advice}</p>}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

function State({ ok, required }: Pick<MachineCheck, 'ok' | 'required'>) {
  const [Icon, colour, label] = ok
    ? ([Check, 'text-good', 'works'] as const)
    : required
      ? ([X, 'text-bad', 'does not work'] as const)
      : ([Minus, 'text-warn', 'not available'] as const)
  return <Icon size={16} role="img" aria-label={label} className={`mt-0.5 shrink-0 ${colour}`} />
}
