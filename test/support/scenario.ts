import type { AgentSettings } from '../../src/agent/settings.ts'
import type { Harness, HarnessOptions } from '../../src/testing/harness.ts'
import type { Reply } from '../../src/testing/scripted-model.ts'

/** A scenario: scripted model replies and the actions of the user. The files beside it hold the resulting timeline and prompt. */
export interface Scenario {
  /** One sentence: what must be true at the end. */
  readonly title: string
  /** Creates the script and the tools. Called for each run, because every scenario runs on several stores. */
  readonly setup: () => Pick<HarnessOptions, 'tools' | 'hooks' | 'instructions' | 'model'> & {
    readonly replies: readonly Reply[]
    readonly settings?: Partial<AgentSettings>
  }
  /** The actions of the user. By default, one message. */
  readonly run?: (harness: Harness) => Promise<void>
  /** Also compare the last prompt, not only the timeline. */
  readonly prompt?: true
  readonly check?: (harness: Harness) => Promise<void>
}
