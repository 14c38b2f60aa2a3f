import { createEstimator, createMeter, type Estimator, type Meter } from '../../core/estimate/estimate.ts'
import type { TokenCounter } from '../../core/estimate/tokens.ts'
import { caps } from '../../core/render/caps.ts'
import { createRenderer, type Renderer } from '../../core/render/render.ts'
import { createFingerprintRecorder, type FingerprintRecorder } from '../../core/render/runs.ts'
import { createSourcesTail, noSourcesTail, type SourcesTail, type SourcesTailRenderer } from '../../core/render/sources-tail.ts'

/** Objects that read the timeline of one conversation. They keep their results, so that each round processes only new blocks. */
export interface Renderers {
  readonly renderer: Renderer
  readonly estimator: Estimator
  readonly meter: Meter
  readonly fingerprints: FingerprintRecorder
  readonly sourcesTail: SourcesTailRenderer
  /** The text of the source pool when there are no sources. */
  readonly noSources: SourcesTail
}

export function createRenderers(count: TokenCounter, hasTool: (id: string) => boolean): Renderers {
  const estimator = createEstimator(count)
  return {
    renderer: createRenderer({ caps, hasTool }),
    estimator,
    meter: createMeter(estimator),
    fingerprints: createFingerprintRecorder(),
    sourcesTail: createSourcesTail(estimator, hasTool),
    noSources: noSourcesTail(estimator, hasTool),
  }
}
