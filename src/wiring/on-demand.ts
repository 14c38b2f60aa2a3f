import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Telemetry } from '../ports/telemetry.ts'

/** Opens a token counter. Its module is imported on demand, because it takes 20 MB of memory. */
export async function openTokenCounter(): Promise<TokenCounter> {
  const { loadTokenCounter } = await import('../adapters/model/token-counter.ts')
  return loadTokenCounter()
}

/** Starts OpenTelemetry. Its module is imported on demand, because it needs a package that is not installed with Daybook. */
export async function startOpenTelemetry(): Promise<Telemetry> {
  const { openTelemetry } = await import('../adapters/telemetry/opentelemetry.ts')
  return openTelemetry()
}
