import type { AgentSettings } from '../../src/agent/settings.ts'
import type { Harness, HarnessOptions } from '../../src/testing/harness.ts'
import type { Reply } from '../../src/testing/scripted-model.ts'

/** A story: what the model will say, and what the user does. What comes of it is in the files beside it. */
export interface Scenario {
  /** One sentence: what must be true at the end. */
  readonly title: string
  /** A fresh script and fresh tools for each run: the same story is told on every store. */
  readonly setup: () => Pick<HarnessOptions, 'tools' | 'hooks' | 'instructions' | 'model'> & {
    readonly replies: readonly Reply[]
    readonly settings?: Partial<AgentSettings>
  }
  /** `say` something once when not given. */
  readonly run?: (harness: Harness) => Promise<void>
  /** Also keep the last prompt, not only the timeline. */
  readonly prompt?: true
  readonly check?: (harness: Harness) => Promise<void>
}
