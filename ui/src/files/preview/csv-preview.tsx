import { useMemo } from 'react'
import { readCsv } from '../../model/csv.ts'

const maxRows = 500

/** A CSV file as a table. If the file is long, only its beginning is shown. */
export function CsvPreview({ text }: { readonly text: string }) {
  const { rows, more } = useMemo(() => readCsv(text, maxRows + 1), [text])
  const [head = [], ...body] = rows
  return (
    <div>
      <div className="max-h-[75dvh] overflow-auto rounded-md border border-line" tabIndex={0} role="region" aria-label="Table">
        <table className="min-w-full border-collapse text-sm tabular-nums">
          <thead className="sticky top-0 bg-raised">
            <tr>
              {head.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same heading
                <th key={index} scope="col" className="border-b border-line px-2.5 py-1.5 text-left font-medium whitespace-nowrap">
                  {cell}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {body.map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no id
              <tr key={at} className="border-b border-line last:border-0">
                {row.map((cell, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: cells have no id
                  <td key={index} className="px-2.5 py-1 align-top">
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="mt-1.5 text-xs text-faint">
        {more ? `The first ${maxRows} rows. Download the file to see all rows.` : `${body.length} ${body.length === 1 ? 'row' : 'rows'}`}
      </p>
    </div>
  )
}
