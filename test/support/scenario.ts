import type { AgentSettings } from '../../src/agent/settings.ts'
import type { Harness, HarnessOptions } from '../../src/testing/harness.ts'
import type { Reply } from '../../src/testing/scripted-model.ts'

/** A scenario: scripted replies of the model and actions of the user. Files in its folder contain the resulting timeline and prompt. */
export interface Scenario {
  /** A sentence that says what must be true at the end. */
  readonly title: string
  /**
   * Why the timeline differs in the dialect `native`. Every other scenario also runs in this dialect, and its timeline must be the same apart
   * from thinking and notes.
   */
  readonly channelsOnly?: string
  /** Creates the replies and the tools. Called for each run, because every scenario runs with several stores. */
  readonly setup: () => Pick<HarnessOptions, 'tools' | 'hooks' | 'instructions' | 'model' | 'sandbox'> & {
    readonly replies: readonly Reply[]
    readonly settings?: Partial<AgentSettings>
  }
  /** The actions of the user. Default: one message. */
  readonly run?: (harness: Harness) => Promise<void>
  /** Whether the last prompt is compared too. The timeline is always compared. */
  readonly prompt?: true
  readonly check?: (harness: Harness) => Promise<void>
}
