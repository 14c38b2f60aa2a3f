import type { CallView, CostView } from 'daybook/client'
import { useState } from 'react'
import { Link } from 'wouter'
import { formatCount, formatMoney, formatTime } from '../model/inspect/figures.ts'
import { Button } from '../primitives/button.tsx'

type Sum = CostView['total']

const firstRows = 12
const headings = ['Calls', 'Read', 'Written', 'In full', 'Output', 'Cost'] as const
const cellLook = 'py-1 pl-4 text-right tabular-nums'

interface SumTableProps {
  readonly title: string
  readonly rows: readonly (readonly [string, Sum])[]
  nameOf(key: string): string
  hrefOf?(key: string): string | undefined
}

/** Sums of calls. */
export function SumTable({ title, rows, nameOf, hrefOf }: SumTableProps) {
  const [all, setAll] = useState(false)
  return (
    <section aria-label={title}>
      <h2 className="text-sm font-medium">{title}</h2>
      <div className="mt-1 overflow-x-auto" tabIndex={0} role="region" aria-label={`Table: ${title}`}>
        <table className="w-full min-w-[34rem] text-sm">
          <Head first="" />
          <tbody>
            {(all ? rows : rows.slice(0, firstRows)).map(([key, { tokens, calls, money, unpriced }]) => (
              <tr key={key} className="border-t border-line" data-row={key}>
                <th scope="row" className="max-w-56 truncate py-1 text-left font-normal">
                  <Named name={nameOf(key)} href={hrefOf?.(key)} />
                </th>
                {[calls, tokens.cache_read, tokens.cache_write, tokens.uncached, tokens.output].map((count, index) => (
                  <td key={headings[index]} className={cellLook}>
                    {formatCount(count)}
                  </td>
                ))}
                <td className={cellLook}>{formatMoney(money, unpriced)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > firstRows && !all && (
        <Button look="quiet" className="mt-1" onClick={() => setAll(true)}>
          Show all {formatCount(rows.length)}
        </Button>
      )}
    </section>
  )
}

interface CallTableProps {
  readonly calls: readonly CallView[]
  readonly turns: readonly string[]
  hrefOf(call: CallView): string | undefined
}

/** Every call of a model. */
export function CallTable({ calls, turns, hrefOf }: CallTableProps) {
  const [all, setAll] = useState(false)
  return (
    <section aria-label="By call">
      <h2 className="text-sm font-medium">By call</h2>
      <div className="mt-1 overflow-x-auto" tabIndex={0} role="region" aria-label="Table: by call">
        <table className="w-full min-w-[40rem] text-sm">
          <Head first="Time" />
          <tbody>
            {(all ? calls : calls.slice(0, firstRows)).map((call, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: several attempts have the same entry
              <tr key={`${call.seq} ${index}`} className="border-t border-line" data-call={call.seq}>
                <th scope="row" className="py-1 text-left font-normal">
                  <span className="text-soft tabular-nums">{formatTime(call.ts)}</span>{' '}
                  <Named name={callName(call, turns)} href={hrefOf(call)} />
                  {call.estimated && <span className="text-xs text-soft"> estimated</span>}
                </th>
                <td className={`${cellLook} max-w-40 truncate`}>{call.model}</td>
                {[call.tokens.cache_read, call.tokens.cache_write, call.tokens.uncached, call.tokens.output].map((count, column) => (
                  <td key={headings[column + 1]} className={cellLook}>
                    {formatCount(count)}
                  </td>
                ))}
                <td className={cellLook}>{formatMoney(call.money)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {calls.length > firstRows && !all && (
        <Button look="quiet" className="mt-1" onClick={() => setAll(true)}>
          Show all {formatCount(calls.length)}
        </Button>
      )}
    </section>
  )
}

const callName = ({ role, turn_id: turn, iteration }: CallView, turns: readonly string[]): string =>
  role === 'decision'
    ? `Turn ${turns.indexOf(turn) + 1}, round ${iteration + 1}`
    : role === 'gate'
      ? 'Title'
      : role === 'compaction'
        ? 'Summary'
        : 'Sub-agent'

function Named({ name, href }: { readonly name: string; readonly href: string | undefined }) {
  if (href === undefined) return <span>{name}</span>
  return (
    <Link href={href} className="text-accent hover:underline">
      {name}
    </Link>
  )
}

const Head = ({ first }: { readonly first: string }) => (
  <thead>
    <tr className="text-xs text-soft">
      <th scope="col" className="text-left font-normal">
        {first === '' ? <span className="sr-only">Name</span> : first}
      </th>
      {(first === '' ? headings : (['Model', ...headings.slice(1)] as const)).map((heading) => (
        <th key={heading} scope="col" className="pl-4 text-right font-normal">
          {heading}
        </th>
      ))}
    </tr>
  </thead>
)
