import type { Announce } from '../../src/core/announce/announce.ts'
import type { Plan } from '../../src/core/block/index.ts'
import {
  artifactContentBlock,
  artifactDigestBlock,
  type BlobRef,
  type BlockOrigin,
  type Draft,
  decisionNotesBlock,
  toolCallBlock,
  toolResultBlock,
} from '../../src/core/block/index.ts'
import type { Json } from '../../src/core/json.ts'
import type { SourcePool } from '../../src/core/sources/pool.ts'
import type { Timeline } from '../../src/core/timeline/timeline.ts'
import { minute } from '../../src/testing/blocks.ts'

/** A moment of a conversation, just before the model is asked. */
export interface Situation {
  readonly timeline: Timeline
  readonly turnId: string
  readonly pool?: SourcePool
  readonly announce?: Announce
}

/** What the situations are made of: one conversation about where to eat. */

export const at = (turnId: string, iteration: number, callId: string): BlockOrigin => ({
  turnId,
  iteration,
  callId,
  ts: minute(iteration + 1),
})
export const blob = (size: number): BlobRef => ({ sha256: '0'.repeat(64), size })
export const budget = (iteration: number) => ({ iteration, max: 15, elapsedSeconds: iteration * 21 })

export const ask = (place: BlockOrigin, toolId: string, params: { readonly [name: string]: Json }, said?: string): readonly Draft[] => [
  ...(said === undefined ? [] : [decisionNotesBlock(place, said, toolId)]),
  toolCallBlock(place, { toolId, params }),
]

export const found = [
  { sid: 1, title: 'Wuppertal: the 10 best restaurants', url: 'https://eat.example/wuppertal', text: 'Scarpati, Katarina and 8 more.' },
  { sid: 2, title: 'Katarina, a review', url: 'https://reviews.example/katarina', text: 'Small, warm, booked out on Fridays.' },
  { sid: 4, title: 'Scarpati', url: 'https://scarpati.example/', text: 'Italian kitchen since 1982.' },
]

export const search = (place: BlockOrigin): readonly Draft[] => [
  ...ask(place, 'web_tools.web_search', { queries: ['best restaurants wuppertal'], n: 3 }, 'I look for places that several guides name.'),
  artifactDigestBlock(place, {
    artifact_path: `tc:${place.turnId}.${place.callId}.result`,
    mime: 'application/json',
    kind: 'file',
    visibility: 'internal',
  }),
  toolResultBlock(place, { mime: 'application/json', text: JSON.stringify(found) }),
]

export const written = (place: BlockOrigin, name: string, content: string): readonly Draft[] => {
  const path = `fi:${place.turnId}.files/${name}`
  const physical_path = `${place.turnId}/files/${name}`
  const digest = {
    artifact_path: path,
    physical_path,
    mime: 'text/markdown',
    kind: 'display' as const,
    visibility: 'external' as const,
    channel: 'canvas',
    size_bytes: content.length,
    tokens: Math.ceil(content.length / 4),
    sources_used: [1, 2],
  }
  return [
    ...ask(place, 'react.write', { path: `files/${name}`, channel: 'canvas', content, kind: 'display' }),
    artifactDigestBlock(place, digest),
    artifactContentBlock(place, { path, mime: 'text/markdown', text: content, digest, meta: { physical_path, key: 'never shown' } }),
  ]
}

export const ranking = `# Where to eat in Wuppertal

1. Katarina [[S:2]]: small and warm
2. Scarpati [[S:1]]: Italian, a garden
3. Miner's: plain and good
`

export const pool: SourcePool = {
  next_sid: 6,
  rows: [
    ...found.slice(0, 2).map((row) => ({ ...row, source_type: 'web' as const, mime: 'text/html', content: 'x'.repeat(6_200) })),
    {
      sid: 5,
      source_type: 'attachment',
      title: 'menu.png',
      mime: 'image/png',
      artifact_path: 'fi:turn_1.user.attachments/menu.png',
      physical_path: 'turn_1/attachments/menu.png',
      size_bytes: 3_200,
      key: 'never shown',
    },
  ],
}

export const visitPlan: Plan = {
  plan_id: 'plan_abc',
  steps: ['Search top restaurants', 'Cross-check ratings', 'Draft ranked list'],
  status: { '1': 'done', '2': 'in_progress' },
  current: true,
  created_ts: minute(1),
  last_ts: minute(2),
  origin_turn_id: 'turn_1',
  last_turn_id: 'turn_1',
}
