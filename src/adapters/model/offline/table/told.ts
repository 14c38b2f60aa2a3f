import { z } from 'zod'
import type { Table } from '../../../../offline/table/table.ts'
import type { QueryResult } from './compute.ts'

/** What is told of an answer: by this model or by a program, which writes it down. */
export const ProgramResult = z.object({
  value: z.string().optional(),
  exact: z.boolean(),
  /** Of the table, of those that match, of those that are the answer. */
  rows: z.number().int(),
  matching: z.number().int(),
  chosen: z.number().int(),
  numbers: z.array(z.number().int()),
  shown: z.array(z.object({ number: z.number().int(), line: z.number().int(), raw: z.string() })),
  groups: z.array(z.object({ name: z.string(), value: z.string(), numbers: z.array(z.number().int()) })),
})
export type ProgramResult = z.infer<typeof ProgramResult>

const [mostShown, mostNumbers, mostGroups, mostInGroup] = [6, 400, 40, 40]

export function toProgramResult({ rows: all }: Table, { value, exact, considered, rows, groups }: QueryResult): ProgramResult {
  return {
    ...(value !== undefined && { value }),
    exact,
    rows: all.length,
    matching: considered.length,
    chosen: rows.length,
    numbers: rows.slice(0, mostNumbers).map(({ number }) => number),
    shown: rows.slice(0, mostShown).map(({ number, line, raw }) => ({ number, line, raw: raw.slice(0, 500) })),
    groups: groups
      .slice(0, mostGroups)
      .map((group) => ({ name: group.name, value: group.value, numbers: group.rows.map(({ number }) => number).slice(0, mostInGroup) })),
  }
}
