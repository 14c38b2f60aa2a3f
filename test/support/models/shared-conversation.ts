import { expect } from 'vitest'
import { createMemoryBlobs } from '../../../src/adapters/blobs/memory.ts'
import { modelFrom, type NamedModelOptions } from '../../../src/adapters/model/index.ts'
import { createMemoryStore } from '../../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import type { Agent } from '../../../src/agent/agent-interface.ts'
import type { AgentSettings } from '../../../src/agent/settings.ts'
import type { TurnResult } from '../../../src/agent/turn/result.ts'
import { type FakeProviderName, type FakeScript, startFakeProvider } from '../../../src/testing/fake-providers/fake-provider.ts'
import type { FakeRequest } from '../../../src/testing/fake-providers/provider-format.ts'
import { createFixedClock } from '../../../src/testing/fixed-clock.ts'
import { requestRules } from '../../../src/testing/request-rules/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Upload } from '../../../src/tools/attachments/upload.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { modelNames } from './provider-models.ts'

/** One turn of a conversation that several models answer. */
export interface SharedTurn {
  readonly provider: FakeProviderName
  /** The model of the provider. Default: the one of `modelNames`. */
  readonly model?: string
  readonly dialect?: AgentSettings['dialect']
  /** The replies to requests for decisions. Requests for a title do not use them. */
  readonly replies: FakeScript
  readonly text?: string
  readonly attachments?: readonly Upload[]
  readonly settings?: Partial<AgentSettings>
  readonly options?: NamedModelOptions
  /** Called with the agent before the turn begins. A tool can use it, for example to close the agent. */
  readonly onAgent?: (agent: Agent) => void
}

export interface SharedResult {
  readonly result: TurnResult
  readonly requests: readonly FakeRequest[]
}

/**
 * A conversation in one store, whose turns are run by agents with different models. Every request is checked with the written rules of its
 * provider.
 */
export function sharedConversation(tools: readonly Tool[] = []) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })

  async function turn({ provider: name, dialect = 'native', replies, text = 'Go on.', ...more }: SharedTurn): Promise<SharedResult> {
    const provider = await startFakeProvider(name, replies, { now: () => Date.parse(clock.now()) })
    const agent = createAgentFrom({
      model: {
        decision: modelFrom(more.model ?? modelNames[name], { images: true, environment: provider.environment, ...more.options }),
        gate: scriptedModel([]),
        compaction: scriptedModel(Array.from({ length: 50 }, () => '## Progress\nSome things were done.')),
      },
      store,
      clock,
      tools,
      settings: { dialect, retryDelaysMs: [0, 0], ...more.settings },
    })
    more.onAgent?.(agent)
    try {
      const result = await agent.run('c1', text, { attachments: more.attachments ?? [] }).result
      return { result, requests: provider.requests }
    } finally {
      await agent.close()
      await provider.close()
      for (const { body } of provider.requests) expect(requestRules[name](body)).toEqual([])
    }
  }

  return { turn, store, clock }
}
