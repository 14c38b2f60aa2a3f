import type { TokenCounter } from '../core/estimate/tokens.ts'
import { hashText } from '../core/hash.ts'
import type { Dialect } from '../core/model-event.ts'
import { InvalidOption } from '../core/options.ts'
import type { SystemFingerprint } from '../core/timeline/response-record.ts'
import type { Model, RequestTool } from '../ports/model.ts'
import { catalogText, requestTools } from '../tools/catalog.ts'
import { type SystemText, systemText } from './prompts/texts.ts'
import type { AgentSettings } from './settings.ts'

/** The greatest number of tools that all providers accept in one request. */
export const maxNativeTools = 128

/**
 * The dialect in which the model is asked. A model that can not call tools in the provider's form always speaks `channels`. With `auto`, an
 * agent with more tools than providers accept also uses `channels`.
 */
export function dialectOf(setting: AgentSettings['dialect'], model: Pick<Model, 'dialect'>, tools = 0): Dialect {
  if (model.dialect === undefined || setting === 'channels') return 'channels'
  if (setting === 'native') return 'native'
  return tools > maxNativeTools ? 'channels' : model.dialect
}

/** Throws when the settings ask for a dialect that the model of the agent can not speak. */
export function checkDialect(setting: AgentSettings['dialect'], { name, dialect }: Model, tools: number): void {
  if (setting !== 'native') return
  if (tools > maxNativeTools)
    throw new InvalidOption(
      'settings',
      'dialect',
      `the agent has ${tools} tools, and providers accept at most ${maxNativeTools}: use "channels"`,
    )
  if (dialect !== undefined) return
  throw new InvalidOption('settings', 'dialect', `the model ${name} can not call tools in the form of a provider: use "auto" or "channels"`)
}

/** The dialect of an agent and its system text. */
export interface Speech {
  readonly dialect: Dialect
  readonly system: SystemPrompt
  /** Changes to `channels`, if the setting is `auto`. Returns false if nothing has changed. */
  speakChannels(): boolean
}

/**
 * Some servers accept tools only for some of their models, and only a request shows for which. Therefore, with the setting `auto`, an agent
 * begins with `native` and changes to `channels` when a request was refused. It then uses `channels` until the process ends.
 */
export function createSpeech(
  setting: AgentSettings['dialect'],
  model: Model,
  tools: number,
  createSystem: (dialect: Dialect) => SystemPrompt,
): Speech {
  const dialect = dialectOf(setting, model, tools)
  const self = {
    dialect,
    system: createSystem(dialect),
    speakChannels() {
      if (setting !== 'auto' || self.dialect === 'channels') return false
      self.dialect = 'channels'
      self.system = createSystem('channels')
      return true
    },
  }
  return self
}

/** The system text of an agent. It does not change while the agent exists. */
export interface SystemPrompt {
  readonly text: string
  /** The tools that are sent with the text, in the dialect `native`. */
  readonly tools?: readonly RequestTool[]
  /** Hashes of the system text with its tools, and of the tools alone. They show whether the system text or the tools have changed. */
  readonly fingerprint: SystemFingerprint
  /** The number of tokens of the text. The tokens are counted at the first call. */
  tokens(): number
}

export function createSystemPrompt(parts: SystemText, count: TokenCounter): SystemPrompt {
  const text = systemText(parts)
  const tools = parts.dialect === 'native' ? requestTools(parts.tools) : undefined
  const whole = tools ? JSON.stringify(tools) + text : text
  const fingerprint = {
    hash: hashText(whole),
    tools: hashText(tools ? JSON.stringify(tools) : catalogText(parts.tools)),
    size: whole.length,
  }
  let tokens: number | undefined
  return { text, ...(tools && { tools }), fingerprint, tokens: () => (tokens ??= count(whole)) }
}
