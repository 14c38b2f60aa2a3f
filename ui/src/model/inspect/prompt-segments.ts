import type { PromptView, RoundView } from 'daybook/client'
import { type BlockGroup, groupOf } from '../block-groups.ts'

/** A block of a prompt: its exact text, and what it cost. */
export interface Segment {
  readonly key: string
  readonly type: string
  readonly group: BlockGroup
  readonly path: string | undefined
  readonly hidden: boolean
  /** Whether there is a cache mark after the block. */
  readonly marked: boolean
  readonly text: string
  /** The images and documents of the block. */
  readonly files: readonly string[]
  readonly tokens: Buckets
  /** In billionths of a dollar. Null when the price is not known. */
  readonly money: number | null
  readonly soFar: { readonly money: number; readonly unpriced: number }
}

/** The tokens of a prompt by the way in which they were billed. */
export interface Buckets {
  readonly read: number
  readonly write: number
  readonly uncached: number
}

export const sumOf = ({ read, write, uncached }: Buckets): number => read + write + uncached

/** The blocks of a prompt with their exact texts and their costs. Together the texts are the whole prompt. */
export function promptSegments({ system, parts, blocks }: PromptView, round: RoundView | undefined): readonly Segment[] {
  const shares = new Map(round?.shares.map((share) => [share.key, share]))
  return blocks.map(({ key, type, path, hidden, marked, spans }) => {
    const texts = spans.map(({ part, start, end }) => (part < 0 ? system : (parts[part]?.text ?? '')).slice(start, end))
    const files = spans.flatMap(({ part }) => {
      const file = part < 0 ? undefined : parts[part]
      return file && file.type !== 'text' ? [`${file.type}, ${file.media_type ?? ''}`] : []
    })
    const share = shares.get(key)
    const { cache_read: read = 0, cache_write: write = 0, uncached = 0 } = share?.tokens ?? {}
    return {
      key,
      type,
      group: groupOf(type),
      path,
      hidden: hidden === true,
      marked,
      text: texts.join(''),
      files,
      tokens: { read, write, uncached },
      money: share?.money ?? null,
      soFar: { money: share?.money_so_far ?? 0, unpriced: share?.unpriced ?? 0 },
    }
  })
}

/** A row of the list that shows a prompt: the heading of a block, a piece of its text, or the cache mark after it. */
export type PromptRow =
  | { readonly kind: 'heading'; readonly segment: number }
  | { readonly kind: 'text'; readonly segment: number; readonly text: string }
  | { readonly kind: 'mark'; readonly segment: number }

const linesPerRow = 30
const charactersPerRow = 3_000

/** The rows of a prompt. Long texts are cut into pieces, so that only the pieces on the screen are in the document. */
export function promptRows(segments: readonly Pick<Segment, 'text' | 'marked'>[]): readonly PromptRow[] {
  return segments.flatMap(({ text, marked }, segment): readonly PromptRow[] => [
    { kind: 'heading', segment },
    ...piecesOf(text).map((piece) => ({ kind: 'text' as const, segment, text: piece })),
    ...(marked ? [{ kind: 'mark' as const, segment }] : []),
  ])
}

function piecesOf(text: string): readonly string[] {
  const pieces: string[] = []
  let from = 0
  while (from < text.length) {
    let end = from
    for (let line = 0; line < linesPerRow && end < text.length && end - from < charactersPerRow; line++) {
      const next = text.indexOf('\n', end)
      end = next < 0 ? text.length : next + 1
    }
    end = Math.min(end, from + 2 * charactersPerRow)
    if (end < text.length && isLowSurrogate(text, end)) end--
    pieces.push(text.slice(from, end))
    from = end
  }
  return pieces
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}
