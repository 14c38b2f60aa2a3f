import { canonicalPath, dropOwnConversation } from '../../core/path/logical.ts'

/** One path to read, and the part of its content to show. */
export interface ReadRequest {
  /** The path as the model wrote it. */
  readonly given: string
  /** The canonical path. Undefined when `given` is not a logical path. */
  readonly path: string | undefined
  readonly range?: Range
  readonly numbering: Numbering
  /** The highest number of characters to show, if it is lower than the limit of the tool. */
  readonly maxSymbols?: number
}

export type Range =
  | { readonly unit: 'lines'; readonly start: number; readonly count?: number }
  | { readonly unit: 'symbols'; readonly start: number; readonly count?: number }

/**
 * How lines are numbered. With `default`, they are numbered only when a part of the text is shown. With `sparsed`, only the first and every
 * tenth line has a number.
 */
export type Numbering = 'default' | 'disabled' | 'lines' | 'sparsed'

/** A path and the part to read, as the model writes it. */
interface ReadItem {
  readonly path: string
  readonly line_start?: number | undefined
  readonly line_count?: number | undefined
  readonly offset_text_symbols?: number | undefined
  readonly max_text_symbols?: number | undefined
  readonly line_numbers?: LineNumbers | undefined
}

type LineNumbers = 'disabled' | 'lines' | 'sparsed' | boolean

/** The parameters of `react.read` that select content. */
interface ReadParams {
  readonly paths: readonly string[]
  readonly items?: readonly ReadItem[] | undefined
  readonly line_numbers?: LineNumbers | undefined
  readonly max_text_symbols?: number | undefined
}

/** The requests of a call, without duplicates. If a path occurs in `paths` and in `items`, it is ignored in `paths`. */
export function requestsOf(
  { paths, items = [], line_numbers, max_text_symbols }: ReadParams,
  conversationId: string,
): readonly ReadRequest[] {
  const addressOf = (path: string) => canonicalPath(dropOwnConversation(path.trim(), conversationId))
  const requestOf = (item: ReadItem) => toRequest(item, addressOf(item.path))
  const ranged = new Set(items.map(({ path }) => addressOf(path) ?? path))
  const plain = paths
    .filter((path) => !ranged.has(addressOf(path) ?? path))
    .map((path) => requestOf({ path, line_numbers, max_text_symbols }))
  const itemRequests = items.map((item) =>
    requestOf({ ...item, line_numbers: item.line_numbers ?? line_numbers, max_text_symbols: item.max_text_symbols ?? max_text_symbols }),
  )
  const distinct = new Map(
    [...plain, ...itemRequests].map((request) => [JSON.stringify({ ...request, given: request.path ?? request.given }), request]),
  )
  return [...distinct.values()]
}

function toRequest(item: ReadItem, path: string | undefined): ReadRequest {
  const { path: given, line_start, line_count, offset_text_symbols, max_text_symbols } = item
  const range = rangeOf(line_start, line_count, offset_text_symbols, max_text_symbols)
  return {
    given,
    path,
    numbering: numberingOf(item.line_numbers),
    ...(range && { range }),
    ...(max_text_symbols !== undefined && { maxSymbols: Math.max(1, max_text_symbols) }),
  }
}

function rangeOf(lineStart?: number, lineCount?: number, offset?: number, symbols?: number): Range | undefined {
  if (lineStart !== undefined || lineCount !== undefined) {
    return { unit: 'lines', start: Math.max(1, lineStart ?? 1), ...(lineCount !== undefined && { count: Math.max(1, lineCount) }) }
  }
  if (offset === undefined) return undefined
  return { unit: 'symbols', start: Math.max(0, offset), ...(symbols !== undefined && { count: Math.max(1, symbols) }) }
}

function numberingOf(lineNumbers: LineNumbers | undefined): Numbering {
  if (lineNumbers === undefined) return 'default'
  return typeof lineNumbers === 'string' ? lineNumbers : lineNumbers ? 'lines' : 'disabled'
}
