import { Failure } from '../../core/failure.ts'
import { type ProviderName, providers } from './providers.ts'

export interface ModelName {
  readonly provider: ProviderName
  readonly model: string
  readonly address?: string
}

export const isOffline = (name: string): boolean => name === 'offline' || name === 'daybook/offline'

/** `provider/model` or `compatible/model@http://host:port/v1`; names of models may hold slashes and colons of their own. */
export function parseModelName(name: string): ModelName {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? name : name.slice(0, slash)
  if (!Object.hasOwn(providers, provider)) {
    const known = `${Object.keys(providers).join(', ')} and offline`
    throw new Failure(
      'model.unavailable',
      `unknown provider ${JSON.stringify(provider.slice(0, 40))} in the name of a model; there is ${known}`,
    )
  }
  const rest = slash === -1 ? '' : name.slice(slash + 1)
  const at = rest.search(/@[a-z][a-z\d+.-]*:\/\//i)
  const model = at === -1 ? rest : rest.slice(0, at)
  if (model.trim() === '') throw new Failure('model.unavailable', `which model of ${provider}? Write ${provider}/<model>`)
  if (!isValidModelId(model)) {
    throw new Failure('model.unavailable', `${JSON.stringify(`${provider}/${model.slice(0, 40)}`)} is no name of a model`)
  }
  return { provider: provider as ProviderName, model, ...(at !== -1 && { address: rest.slice(at + 1) }) }
}

/** A name stands in addresses, logs and journals, so it has letters, digits and a few signs, and leads nowhere else. */
const isValidModelId = (model: string) => /^[\w.:@/+~-]{1,200}$/.test(model) && !model.split('/').includes('..')
