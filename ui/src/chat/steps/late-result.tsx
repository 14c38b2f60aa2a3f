import type { Wait } from 'daybook/client'
import { Clock } from 'lucide-react'

const words: Readonly<Record<string, string>> = {
  later: 'Waits for a result that arrives later.',
  provider:
    'The provider of the model accepts no requests at the moment. The turn continues by itself when the provider accepts requests again.',
  budget: 'Waits, because a budget is used up. An operator can allow more.',
  child: 'Waits for another agent.',
  elicitation: 'Waits for an answer.',
  approval: 'Waits for an approval.',
}

/** Something that the turn waits for and that can not be answered on this page. */
export function LateResult({ wait }: { readonly wait: Wait }) {
  const until = wait.expires_at === undefined ? undefined : new Date(wait.expires_at)
  return (
    <p className="flex items-start gap-2 rounded-lg bg-raised px-3 py-2 text-sm text-soft" role="status">
      <Clock size={15} className="mt-1 shrink-0 text-warn" aria-hidden />
      <span>
        {wait.question ?? words[wait.kind] ?? 'Waits.'}
        {until && <span className="text-faint"> Until {until.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })}.</span>}
      </span>
    </p>
  )
}
