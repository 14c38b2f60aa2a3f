import { artifactContentBlock, artifactDigestBlock, type Draft } from '../../../src/core/block/index.ts'
import { createRenderer, type Prompt, type RenderOptions } from '../../../src/core/render/render.ts'
import type { Part, RenderSettings, Slice } from '../../../src/core/render/types.ts'
import type { Timeline } from '../../../src/core/timeline/timeline.ts'
import { blockOrigin, call, header } from '../../../src/testing/blocks.ts'
import { plainOptions, timelineOf } from './timelines.ts'

/** The rendered blocks of a timeline, without marks and tail. */
export const sliceOf = (timeline: Timeline, currentTurnId?: string, settings?: RenderSettings): Slice =>
  createRenderer(settings).slice(timeline, currentTurnId)

export const blob = (size = 100) => ({ sha256: 'a'.repeat(64), size })

export const textsOf = (parts: readonly Part[]): readonly string[] =>
  parts.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`))

export const shownParts = (drafts: readonly Draft[]): readonly Part[] => sliceOf(timelineOf(drafts)).shown.flatMap(({ parts }) => parts)
export const shownTexts = (drafts: readonly Draft[]): readonly string[] => textsOf(shownParts(drafts))

/** The rendered text of the last of these blocks. A turn header comes before them. */
export const last = (...drafts: readonly Draft[]): readonly string[] =>
  textsOf(sliceOf(timelineOf([header(), ...drafts])).shown.at(-1)?.parts ?? [])

export const render = (drafts: readonly Draft[], options: RenderOptions = plainOptions('t1')): Prompt =>
  createRenderer().render(timelineOf(drafts), options)

/** The blocks of a call of `react.write`: the call, the digest and the content. */
export const written = (callId: string, path: string, text: string): readonly Draft[] => [
  call(callId, 'react.write'),
  artifactDigestBlock(blockOrigin(callId), { artifact_path: path }),
  artifactContentBlock(blockOrigin(callId), { path, mime: 'text/markdown', text, digest: { artifact_path: path } }),
]
