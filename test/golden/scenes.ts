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

/** The state of a conversation right before a model call. */
export interface Situation {
  readonly timeline: Timeline
  readonly turnId: string
  readonly pool?: SourcePool
  readonly announce?: Announce
}

// Data for the situations: a conversation about restaurants.

export const at = (turnId: string, iteration: number, callId: string): BlockOrigin => ({
  turnId,
  iteration,
  callId,
  ts: minute(iteration + 1),
})
export const blob = (size: number): BlobRef => ({ sha256: '0'.repeat(64), size })
export const budget = (iteration: number) => ({ iteration, max: 15, elapsedSeconds: iteration * 21 })

export const ask = (origin: BlockOrigin, toolId: string, params: { readonly [name: string]: Json }, notes?: string): readonly Draft[] => [
  ...(notes === undefined ? [] : [decisionNotesBlock(origin, notes, toolId)]),
  toolCallBlock(origin, { toolId, params }),
]

export const found = [
  { sid: 1, title: 'Wuppertal: the 10 best restaurants', url: 'https://eat.example/wuppertal', text: 'Scarpati, Katarina and 8 more.' },
  { sid: 2, title: 'Katarina, a review', url: 'https://reviews.example/katarina', text: 'Small, warm, booked out on Fridays.' },
  { sid: 4, title: 'Scarpati', url: 'https://scarpati.example/', text: 'Italian kitchen since 1982.' },
]

export const search = (origin: BlockOrigin): readonly Draft[] => [
  ...ask(origin, 'web_tools.web_search', { queries: ['best restaurants wuppertal'], n: 3 }, 'I look for places that several guides name.'),
  artifactDigestBlock(origin, {
    artifact_path: `tc:${origin.turnId}.${origin.callId}.result`,
    mime: 'application/json',
    kind: 'file',
    visibility: 'internal',
  }),
  toolResultBlock(origin, { mime: 'application/json', text: JSON.stringify(found) }),
]

export const written = (origin: BlockOrigin, name: string, content: string): readonly Draft[] => {
  const path = `fi:${origin.turnId}.files/${name}`
  const physical_path = `${origin.turnId}/files/${name}`
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
    ...ask(origin, 'react.write', { path: `files/${name}`, channel: 'canvas', content, kind: 'display' }),
    artifactDigestBlock(origin, digest),
    artifactContentBlock(origin, { path, mime: 'text/markdown', text: content, digest, meta: { physical_path, key: 'never shown' } }),
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
