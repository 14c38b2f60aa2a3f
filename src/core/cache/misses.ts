import type { Block } from '../block/block.ts'

/** Why something that was cached, or should have been, was paid for again. */
export type MissCause =
  | 'model switch'
  | 'system text changed'
  | 'tool text changed'
  | 'ttl gap'
  | 'hide'
  | 'reveal'
  | 'expiry'
  | 'compaction'
  | 'feedback inserted'
  | 'timeline imported'
  | 'rendered differently'
  | 'look-back exceeded'
  | 'mark limit'
  | 'below minimum'
  | 'not reported'
  | 'dropped by provider'

export interface Miss {
  readonly cause: MissCause
  /** Tokens that could have been read for a tenth, or kept, and were not. */
  readonly tokens: number
  /** Where it begins, if it is a block. */
  readonly block?: Pick<Block, 'id' | 'type' | 'path'>
  /** The same for a person. */
  readonly words: string
}

const missTexts: { readonly [C in MissCause]: (about: MissFacts) => string } = {
  'model switch': ({ from, to }) => `another model was asked: ${from ?? '?'}, then ${to ?? '?'}`,
  'system text changed': () => 'the system text is not the one of the call before',
  'tool text changed': () => 'the catalogue of tools is not the one of the call before',
  'ttl gap': ({ seconds, ttl }) => `${span(seconds)} without a call; the provider keeps ${span(ttl)}`,
  hide: ({ block }) => `react.hide folded ${block} away`,
  reveal: ({ block }) => `${block}, hidden before, is shown again`,
  expiry: ({ block }) => `${block} was folded away as old while the provider still had it`,
  compaction: ({ block }) => `the context was compacted: ${block} stands for what left`,
  'feedback inserted': ({ block }) => `feedback ${block} was put into an old turn`,
  'timeline imported': ({ block }) => `the timeline was imported anew, from ${block} on`,
  'rendered differently': ({ block }) => `${block} is the same, but the code that shows it has changed`,
  'look-back exceeded': ({ block, parts, reach }) =>
    `${parts} parts lie between the last mark and what was cached before ${block}; the provider looks back over ${reach}`,
  'mark limit': ({ marks, most }) => `${marks} marks were asked for, the provider takes ${most}`,
  'below minimum': ({ planned, minimum }) => `about ${planned} tokens are too few to be kept; from ${minimum} on they are`,
  'not reported': () => 'the provider did not say what it cached',
  'dropped by provider': () => 'nothing changed and time was not up: the provider no longer had it',
}

/** What there is to say about a miss, in so far as it matters. */
export interface MissFacts {
  readonly block?: string
  readonly from?: string
  readonly to?: string
  readonly seconds?: number
  readonly ttl?: number
  readonly parts?: number
  readonly reach?: number
  readonly marks?: number
  readonly most?: number
  readonly planned?: number
  readonly minimum?: number
}

export function createMiss(cause: MissCause, tokens: number, about: MissFacts = {}, block?: Block): Miss {
  const named = block && { id: block.id, type: block.type, ...(block.path !== undefined && { path: block.path }) }
  const words = missTexts[cause]({ block: named ? `${named.id} (${named.path ?? named.type})` : 'a block', ...about })
  return { cause, tokens: Math.round(tokens), ...(named && { block: named }), words }
}

function span(seconds = 0): string {
  return seconds < 120
    ? `${Math.round(seconds)} s`
    : seconds < 7_200
      ? `${Math.round(seconds / 60)} min`
      : `${Math.round(seconds / 3600)} h`
}
