import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Telemetry } from '../ports/telemetry.ts'

/** Imported on demand, because the module takes 20 MB of memory. */
export async function openTokenCounter(): Promise<TokenCounter> {
  const { loadTokenCounter } = await import('../adapters/model/token-counter.ts')
  return loadTokenCounter()
}

/** Imported on demand, because it needs a package that is not installed with Daybook. */
export async function startOpenTelemetry(): Promise<Telemetry> {
  const { openTelemetry } = await import('../adapters/telemetry/opentelemetry.ts')
  return openTelemetry()
}
