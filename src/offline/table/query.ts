import type { Column } from '../../adapters/model/offline/table/columns.ts'
import type { UnknownWords } from '../../adapters/model/offline/table/understood.ts'
import type { Decimal } from './decimal.ts'

/** What is asked of a table. */
export interface Query {
  readonly measure: 'count' | 'distinct' | 'sum' | 'average' | 'minimum' | 'maximum' | 'rows'
  /** What is measured; of a count, nothing. */
  readonly column: Column | undefined
  readonly filters: readonly Filter[]
  readonly groupBy: Column | undefined
  /** Only so many rows or groups: the highest, or the lowest. */
  readonly best: { readonly count: number; readonly order: 'highest' | 'lowest' } | undefined
  readonly notUnderstood: UnknownWords
}

export type Filter =
  | { readonly column: Column; readonly test: 'is'; readonly value: string }
  | { readonly column: Column; readonly test: 'one of'; readonly value: readonly string[]; readonly word: string }
  | { readonly column: Column; readonly test: 'begins'; readonly value: string }
  | { readonly column: Column; readonly test: 'month'; readonly value: number }
  | { readonly column: Column; readonly test: 'more' | 'less' | 'at least' | 'at most'; readonly value: Decimal }
