import { createRequire } from 'node:module'
import { cutAt } from '../../core/cut.ts'
import { Failure, missingPackageText } from '../../core/failure.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { Model } from '../../ports/model.ts'
import { aiSdkModel, type ModelOptions, type SdkModel } from './ai-sdk.ts'
import { providerRules, rulesNameOf } from './provider-rules.ts'
import { type OpenOptions, type Provider, type ProviderName, providers } from './providers.ts'

/** A model by name (`anthropic/claude-sonnet-5-5`, `offline`), a model of the AI SDK, or an implementation of the `Model` port. */
export type ModelChoice = string | Model | SdkModel

/** Options of a model that is given by name. */
export interface NamedModelOptions extends ModelOptions {
  /** The variables that contain keys and addresses. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** The key of the provider. Default: the key in the environment. */
  readonly key?: string
  /** The address of the provider. Default: the address in the environment. */
  readonly address?: string
  /** Reads PDF documents for the offline model. Other models get the bytes of documents. */
  readonly reader?: DocumentReader
}

/**
 * Makes a model from a name, a model of the AI SDK, or a `Model`. Throws `model.unavailable` when a key, an address or the package of the
 * provider is missing. The package is loaded at the first call.
 */
export function modelFrom(choice: ModelChoice, options: NamedModelOptions = {}): Model {
  if (typeof choice === 'string') return isOffline(choice) ? offlineModel(options) : namedModel(choice, options)
  return 'doStream' in choice ? wrapSdkModel(choice, options) : choice
}

const isOffline = (name: string): boolean => name === 'offline' || name === 'daybook/offline'

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
  const { name, provider, entry, opening } = resolveModel(wanted, options, 'or choose the model "offline", which needs none')
  return aiSdkModel(
    {
      name,
      provider,
      modelId: opening.model,
      rules: providerRules[entry.rules],
      open: retryableOnce(() => entry.open(opening)),
      secrets: opening.key === undefined ? [] : [opening.key],
    },
    options,
  )
}

/**
 * Finds the provider, the key and the address of a model that is given by name. If the key is missing, the error message ends with
 * `otherwise`, which says what the user can do.
 */
export function resolveModel(
  wanted: string,
  options: Pick<NamedModelOptions, 'environment' | 'key' | 'address'>,
  otherwise: string,
): { readonly name: string; readonly provider: ProviderName; readonly entry: Provider; readonly opening: OpenOptions } {
  const { provider, model, address: addressInName } = parseModelName(wanted)
  const name = `${provider}/${model}` // without the address, which may contain a secret
  const entry: Provider = providers[provider]
  const environment = options.environment ?? process.env
  const key = readKey(entry, environment, options.key)
  const address = checkAddress(addressInName ?? options.address ?? environment[entry.address.variable] ?? entry.address.usual, name)
  if (entry.key.required && !key) {
    const variable = entry.key.variables[0]
    throw new Failure('model.unavailable', `${name} needs a key: set ${variable}, ${otherwise}`)
  }
  if (provider === 'compatible' && address === undefined) {
    const how = `write compatible/${model}@http://host:port/v1 or set ${entry.address.variable}`
    throw new Failure('model.unavailable', `${name} needs an address: ${how}`)
  }
  checkInstalled(entry.packageName)
  return { name, provider, entry, opening: { model, key, address } }
}

function wrapSdkModel(model: SdkModel, options: ModelOptions): Model {
  if (model.specificationVersion !== 'v4' && model.specificationVersion !== 'v3') {
    const { provider, specificationVersion } = model as { readonly provider: string; readonly specificationVersion: string }
    const problem = `this model of ${provider} implements version ${specificationVersion} of the AI SDK's model interface`
    throw new Failure('model.unavailable', `${problem}; update its package to a version that implements v3 or v4`)
  }
  // In `vertex.anthropic.messages`, for example, the service that is paid is `vertex`. Prices are listed under this name.
  const [provider = 'unknown'] = model.provider.split('.')
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

interface ModelName {
  readonly provider: ProviderName
  readonly model: string
  readonly address?: string
}

/** Parses `provider/model` or `compatible/model@http://host:port/v1`. A model id may itself contain slashes, colons and `@`. */
export function parseModelName(name: string): ModelName {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? name : name.slice(0, slash)
  if (!Object.hasOwn(providers, provider)) {
    const known = `${Object.keys(providers).join(', ')} or offline`
    throw new Failure(
      'model.unavailable',
      `unknown provider ${JSON.stringify(cutAt(provider, 40))} in the name of a model; use one of ${known}`,
    )
  }
  const rest = slash === -1 ? '' : name.slice(slash + 1)
  const addressAt = rest.search(/@[a-z][a-z\d+.-]*:\/\//i)
  const model = addressAt === -1 ? rest : rest.slice(0, addressAt)
  if (model.trim() === '') throw new Failure('model.unavailable', `no model of ${provider} is named: write ${provider}/<model>`)
  if (!isValidModelId(model)) {
    const wrong = JSON.stringify(`${provider}/${cutAt(model, 40)}`)
    throw new Failure('model.unavailable', `${wrong} is not the name of a model: only letters, digits and . _ : @ / + ~ - are allowed`)
  }
  return { provider: provider as ProviderName, model, ...(addressAt !== -1 && { address: rest.slice(addressAt + 1) }) }
}

/** Whether a model id can be used in URLs, logs and journals without escaping. */
const isValidModelId = (model: string) => /^[\w.:@/+~-]{1,200}$/.test(model) && !model.split('/').includes('..')

/** Checks the address of a provider. Addresses are printed, so they must not contain credentials. */
function checkAddress(address: string | undefined, name: string): string | undefined {
  if (address === undefined || address === '') return undefined
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new Failure('model.unavailable', `the address of ${name} must be an http or https URL`)
  if (url.username !== '' || url.password !== '') {
    throw new Failure('model.unavailable', `the address of ${name} must not contain a password: put the key into the environment`)
  }
  if (url.search !== '' || url.hash !== '') {
    const reason = 'request paths are appended to it, and a key belongs into the environment'
    throw new Failure('model.unavailable', `the address of ${name} must not contain a query or a fragment: ${reason}`)
  }
  return address
}

/**
 * The key without white space around it, which files with keys often have. A key that can not be sent in a header throws
 * `model.unavailable`. Otherwise the HTTP client would throw an error that contains the key.
 */
function readKey({ key: { variables } }: Provider, environment: Readonly<Record<string, string | undefined>>, given: string | undefined) {
  const candidates =
    given === undefined ? variables.map((variable) => [variable, environment[variable]] as const) : [['the key', given] as const]
  const [name, key] = candidates.map(([variable, value]) => [variable, value?.trim()] as const).find(([, value]) => value) ?? []
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new Failure('model.unavailable', `${name} is not a valid key: it contains a space, a line break or a character beyond ASCII`)
  }
  return key
}

/** Throws when the package of a provider is not installed. Does not load the package. */
function checkInstalled(packageName: string): void {
  try {
    createRequire(import.meta.url).resolve(packageName)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') return // the package is installed, but `require` can not load it
    throw new Failure('model.unavailable', missingPackageText(packageName), { cause: error })
  }
}

/** Runs `make` at the first call, and returns the same result at later calls. After a failure the next call runs `make` again. */
export function retryableOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= make().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
}
