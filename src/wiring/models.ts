import { type ModelChoice, modelFrom, type NamedModelOptions } from '../adapters/model/model-from.ts'
import { chargeOfPrice, createChargeOf } from '../adapters/model/prices.ts'
import { cacheRulesOf } from '../adapters/model/provider-rules.ts'
import { type Provider, providers } from '../adapters/model/providers.ts'
import type { AgentParts } from '../agent/agent.ts'
import type { AgentSettings } from '../agent/settings.ts'
import type { Settings } from '../config/settings.ts'
import { Failure } from '../core/failure.ts'
import { documentEligibleMimes } from '../core/sources/source.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { AgentOptions } from './agent.ts'
import type { ModelChoices } from './define-agent.ts'

const isOneModel = (value: object): boolean => 'stream' in value || 'doStream' in value

export function modelsFrom(choice: AgentOptions['model'], options: NamedModelOptions): AgentParts['model'] {
  if (typeof choice === 'string' || isOneModel(choice)) return modelFrom(choice as ModelChoice, options)
  const { decision, gate, compaction, fallback } = choice as ModelChoices
  return {
    decision: modelFrom(decision, options),
    ...(gate !== undefined && { gate: modelFrom(gate, options) }),
    ...(compaction !== undefined && { compaction: modelFrom(compaction, options) }),
    ...(fallback !== undefined && { fallback: modelFrom(fallback, options) }),
  }
}

export function namedModels(choices: AgentOptions['models'], options: NamedModelOptions): Pick<AgentParts, 'models'> {
  if (!choices) return {}
  return { models: Object.fromEntries(Object.entries(choices).map(([name, choice]) => [name, modelFrom(choice, options)])) }
}

/**
 * Settings for the offline model. Undefined for other models. The offline model answers from documents and cites them, so documents must be
 * allowed as sources.
 */
export function offlineSources(model: AgentParts['model']): Pick<AgentSettings, 'sources'> | undefined {
  const { name } = 'stream' in model ? model : model.decision
  return name === 'offline' ? { sources: { eligibleMimes: documentEligibleMimes } } : undefined
}

/**
 * The models of the setting `model`. It is a name, a model object of a configuration file, or an object with a model for each role. The
 * setting `fallbackModel` takes precedence over the model for `fallback` in this object.
 */
export function modelOf(
  { model: choice, fallbackModel }: Pick<Settings, 'model' | 'fallbackModel'>,
  reader: DocumentReader,
): AgentParts['model'] {
  // the members of an object are not checked further, so a wrong method fails when it is called
  if (typeof choice === 'string' || isOneModel(choice) || 'decision' in choice) {
    const models = modelsFrom(choice as AgentOptions['model'], { reader })
    if (fallbackModel === undefined) return models
    return { ...('stream' in models ? { decision: models } : models), fallback: modelFrom(fallbackModel as ModelChoice, { reader }) }
  }
  throw new Failure('model.unavailable', 'the setting model must be a name, a model of the AI SDK, or an object with a stream function')
}

/** Prices and cache rules of the providers. Reports about costs and cache use read them. */
export const bookkeeping = { rulesOf: cacheRulesOf, chargeOf: createChargeOf() }

/** The bookkeeping of an agent. If its settings have `priceOf`, reports use these prices. */
export const bookkeepingWith = ({ priceOf }: Partial<Pick<AgentSettings, 'priceOf'>> = {}) =>
  priceOf ? { ...bookkeeping, chargeOf: chargeOfPrice(priceOf) } : bookkeeping

/** For one provider: the environment variables that may contain its key, and whether it needs a key. */
export type ModelKey = Provider['key'] & { readonly provider: string }

/** One `ModelKey` for each provider whose models can be chosen by name. */
export const modelKeys: readonly ModelKey[] = Object.entries(providers).map(([provider, { key }]) => ({ provider, ...key }))
