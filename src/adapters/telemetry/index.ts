// The package entry `daybook/telemetry`. It needs the package @opentelemetry/api.

export type { AgentTelemetry, ObservedAgent, ObservedCall, ObservedOutcome, Telemetry } from '../../ports/telemetry.ts'
export { type OpenTelemetryOptions, openTelemetry, type SpanSource } from './opentelemetry.ts'
