import { createEstimator, type Estimator } from '../core/estimate/estimator.ts'
import { createMeter, type Meter } from '../core/estimate/meter.ts'
import { createRenderer, type Renderer } from '../core/render/render.ts'
import { createPrinter, type Printer } from '../core/render/shown-print.ts'
import { createSourcesTail } from '../core/render/sources-tail.ts'
import type { TokenCounter } from '../core/tokens.ts'

/** What looks at a conversation's timeline: remembers what it has seen, so that each look costs what is new. */
export interface View {
  readonly renderer: Renderer
  readonly estimator: Estimator
  readonly meter: Meter
  readonly printer: Printer
  readonly sourcesTail: ReturnType<typeof createSourcesTail>
}

export function createView(count: TokenCounter): View {
  const estimator = createEstimator(count)
  return {
    renderer: createRenderer(),
    estimator,
    meter: createMeter(estimator),
    printer: createPrinter(),
    sourcesTail: createSourcesTail(),
  }
}
