import { Failure } from '../../core/failure.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { Model } from '../../ports/model.ts'
import { aiSdkModel, type ModelOptions, type SdkModel } from './ai-sdk.ts'
import { providerRules, rulesNameOf } from './provider-rules.ts'
import { type Provider, type ProviderName, providers } from './providers.ts'

/** A model by name (`anthropic/claude-sonnet-5-5`), a model of the AI SDK, or one of our own. */
export type ModelChoice = string | Model | SdkModel

export interface NamedModelOptions extends ModelOptions {
  /** Keys and addresses; the process's own when not given. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Instead of the environment's. */
  readonly key?: string
  readonly address?: string
  /** Reads PDF for the offline model; other models are sent the bytes. */
  readonly reader?: DocumentReader
}

/**
 * The model that was chosen. What is missing to use it, a key or an address, is said here and not at the first question; the code
 * that speaks to its provider is loaded at the first question and not here.
 */
export function modelFrom(choice: ModelChoice, options: NamedModelOptions = {}): Model {
  if (typeof choice === 'string') return isOffline(choice) ? offlineModel(options) : namedModel(choice, options)
  return 'doStream' in choice ? wrapSdkModel(choice, options) : choice
}

/** The model that needs nothing; loaded when it is asked, as any other. */
function offlineModel({ reader }: NamedModelOptions): Model {
  const open = retryableOnce(async () => {
    const { createOfflineModel } = await import('../../offline/index.ts')
    return createOfflineModel(reader ? { documents: reader } : {})
  })
  return {
    name: 'offline',
    window: 200_000,
    async *stream(request, signal) {
      yield* (await open()).stream(request, signal)
    },
  }
}

function namedModel(wanted: string, options: NamedModelOptions): Model {
  const { provider, model, address: inName } = parseModelName(wanted)
  const name = `${provider}/${model}` // an address may hold what nobody should read
  const entry: Provider = providers[provider]
  const environment = options.environment ?? process.env
  const key = readKey(entry, environment, options.key)
  const address = checkAddress(inName ?? options.address ?? environment[entry.address.variable] ?? entry.address.usual, name)
  if (entry.key.required && !key) {
    const variable = entry.key.variables[0]
    throw new Failure('model.unavailable', `${name} needs a key: set ${variable}, or choose the model "offline", which needs none`)
  }
  if (provider === 'compatible' && address === undefined) {
    const how = `write compatible/${model}@http://host:port/v1 or set ${entry.address.variable}`
    throw new Failure('model.unavailable', `${name} needs an address: ${how}`)
  }
  return aiSdkModel(
    {
      name,
      provider,
      modelId: model,
      rules: providerRules[entry.rules],
      open: retryableOnce(() => entry.open({ model, key, address }).catch(explainMissingPackage(entry.packageName))),
      secrets: key === undefined ? [] : [key],
    },
    options,
  )
}

function wrapSdkModel(model: SdkModel, options: ModelOptions): Model {
  if (model.specificationVersion !== 'v4' && model.specificationVersion !== 'v3') {
    const { provider, specificationVersion } = model as { readonly provider: string; readonly specificationVersion: string }
    const problem = `this model of ${provider} speaks version ${specificationVersion} of the AI SDK's interface`
    throw new Failure('model.unavailable', `${problem}; update its package to one that speaks v3 or v4`)
  }
  const [provider = 'unknown'] = model.provider.split('.') // who serves it: the same model may cost something else elsewhere
  return aiSdkModel(
    {
      name: `${provider}/${model.modelId}`,
      provider,
      modelId: model.modelId,
      rules: providerRules[rulesNameOf(model.provider)],
      open: async () => model,
      secrets: [],
    },
    options,
  )
}

/** No name and no password in it: addresses are printed. */
function checkAddress(address: string | undefined, name: string): string | undefined {
  if (address === undefined || address === '') return undefined
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new Failure('model.unavailable', `the address of ${name} must be an http or https URL`)
  if (url.username !== '' || url.password !== '') {
    throw new Failure('model.unavailable', `the address of ${name} must hold no password; a key goes into the environment`)
  }
  if (url.search !== '' || url.hash !== '') {
    throw new Failure(
      'model.unavailable',
      `the address of ${name} must hold no query: paths are put behind it, and a key goes into the environment`,
    )
  }
  return address
}

/** Without the line end that files put behind it. What can not be sent is refused here: the error of a header repeats what it held. */
function readKey({ key: { variables } }: Provider, environment: Readonly<Record<string, string | undefined>>, given: string | undefined) {
  const held = given === undefined ? variables.map((variable) => [variable, environment[variable]] as const) : [['the key', given] as const]
  const [name, key] = held.map(([variable, value]) => [variable, value?.trim()] as const).find(([, value]) => value) ?? []
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new Failure('model.unavailable', `${name} holds something that no key holds: a space, a line end or a letter beyond ASCII`)
  }
  return key
}

const explainMissingPackage = (packageName: string) => (error: unknown) => {
  if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
  throw new Failure('model.unavailable', `the package ${packageName} is not installed: npm install ${packageName}`, { cause: error })
}

/** What failed is tried again the next time. */
function retryableOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

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
