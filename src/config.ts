import { z } from 'zod'

const number = (schema: z.ZodNumber) => z.preprocess((value) => (typeof value === 'string' ? Number(value) : value), schema)
const text = z.string().min(1)
const portRule = 'must be a whole number from 0 to 65535'

/** Every setting, with what holds when nobody says otherwise. */
export const Settings = z.strictObject({
  /** `provider/model`, whose keys are read from the providers' own variables; in a file, a model itself may stand here. */
  model: z.union([text, z.custom<object>((value) => typeof value === 'object' && value !== null, 'must be a name or a model')]),
  /** Where the embedded store lives. */
  data: text,
  host: text,
  /** 0 takes any that is free. */
  port: number(z.int(portRule).min(0, portRule).max(65_535, portRule)),
  /** How versions of a conversation's files are kept: in the journal, or in git. */
  workspace: z.enum(['custom', 'git']),
  /** With git: another bare repository, by path or address, that all machines share. */
  workspaceRemote: text.optional(),
  /** Who may talk to a server that others can reach. One of the three keys; without any, only this machine. */
  auth: z.strictObject({
    secret: text.optional(),
    publicKey: text.optional(),
    jwksUrl: z.url().optional(),
    issuer: text.optional(),
    audience: text.optional(),
  }),
  /** How far a turn may go. */
  budget: z.strictObject({
    rounds: number(z.int().min(1).max(1_000)),
    /** In US dollars. */
    money: number(z.number().positive()).optional(),
  }),
  logLevel: z.enum(['silent', 'error', 'warn', 'info']),
  /** A server to talk to, instead of an agent of one's own. */
  server: z.url({ protocol: /^https?$/ }).optional(),
  token: text.optional(),
})
export type Settings = z.infer<typeof Settings>

/** Every setting by its name, and the variable that may say it. */
export const variables = {
  model: 'DAYBOOK_MODEL',
  data: 'DAYBOOK_DATA',
  host: 'DAYBOOK_HOST',
  port: 'DAYBOOK_PORT',
  workspace: 'DAYBOOK_WORKSPACE',
  workspaceRemote: 'DAYBOOK_WORKSPACE_REMOTE',
  'auth.secret': 'DAYBOOK_AUTH_SECRET',
  'auth.publicKey': 'DAYBOOK_AUTH_PUBLIC_KEY',
  'auth.jwksUrl': 'DAYBOOK_AUTH_JWKS_URL',
  'auth.issuer': 'DAYBOOK_AUTH_ISSUER',
  'auth.audience': 'DAYBOOK_AUTH_AUDIENCE',
  'budget.rounds': 'DAYBOOK_BUDGET_ROUNDS',
  'budget.money': 'DAYBOOK_BUDGET_MONEY',
  logLevel: 'DAYBOOK_LOG_LEVEL',
  server: 'DAYBOOK_SERVER',
  token: 'DAYBOOK_TOKEN',
} as const
export type SettingName = keyof typeof variables

const defaults: SettingsLayer = {
  origin: 'default',
  values: {
    model: 'offline',
    data: '.daybook',
    host: '127.0.0.1',
    port: 4127,
    workspace: 'custom',
    'budget.rounds': 15,
    logLevel: 'info',
  },
}

/** Never printed. */
export const secretSettings: ReadonlySet<SettingName> = new Set(['auth.secret', 'token'])

/** Settings from one place, by name. */
export interface SettingsLayer {
  readonly origin: string
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>
}

export interface EffectiveSettings {
  readonly settings: Settings
  /** Who said each of them. */
  readonly origins: Readonly<Partial<Record<SettingName, string>>>
}

/** The first layer that says something about a setting decides it. */
export function effectiveSettings(layers: readonly SettingsLayer[]): EffectiveSettings {
  const values: Partial<Record<SettingName, unknown>> = {}
  const origins: Partial<Record<SettingName, string>> = {}
  for (const { origin, values: said } of [defaults, ...layers.toReversed()]) {
    for (const [name, value] of Object.entries(said) as [SettingName, unknown][]) {
      if (value === undefined) continue
      values[name] = value
      origins[name] = origin === 'environment' ? variables[name] : origin
    }
  }
  const parsed = Settings.safeParse(toNested(values))
  if (parsed.success) return { settings: parsed.data, origins }
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = path.join('.') as SettingName
    return `${name} (${origins[name] ?? 'not said'}): ${message}`
  })
  throw new RangeError(`settings are wrong: ${problems.join('; ')}. daybook config shows where each comes from`)
}

/** From `DAYBOOK_*`. A variable that no setting has is a mistake worth hearing of, not one to pass over. */
export function environmentLayer(environment: Readonly<Record<string, string | undefined>>): SettingsLayer {
  const names = new Map(Object.entries(variables).map(([name, variable]) => [variable as string, name as SettingName]))
  const given = Object.entries(environment).filter(
    ([variable, value]) => variable.startsWith('DAYBOOK_') && value !== undefined && value !== '',
  )
  const unknown = given.filter(([variable]) => !names.has(variable)).map(([variable]) => variable)
  if (unknown.length > 0) throw new RangeError(`unknown setting ${unknown.join(', ')}; there is ${[...names.keys()].join(', ')}`)
  return { origin: 'environment', values: Object.fromEntries(given.map(([variable, value]) => [names.get(variable), value])) }
}

/** From what a file exports. */
export function fileLayer(file: string, exported: unknown): SettingsLayer {
  if (!isPlainObject(exported)) throw new RangeError(`${file} must export its settings as default: export default { model: '…' }`)
  const values = toFlat(exported)
  const unknown = Object.keys(values).filter((name) => !(name in variables))
  if (unknown.length > 0)
    throw new RangeError(`unknown setting ${unknown.join(', ')} in ${file}; there is ${Object.keys(variables).join(', ')}`)
  return { origin: file, values }
}

const groups = new Set(['auth', 'budget'])

function toFlat(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) =>
      groups.has(name) && isPlainObject(value) ? Object.entries(value).map(([inner, said]) => [`${name}.${inner}`, said]) : [[name, value]],
    ),
  )
}

function toNested(values: Readonly<Partial<Record<SettingName, unknown>>>): unknown {
  const settings: Record<string, unknown> = { auth: {}, budget: {} }
  for (const [name, value] of Object.entries(values)) {
    const [group = '', inner] = name.split('.')
    if (inner === undefined) settings[name] = value
    else (settings[group] as Record<string, unknown>)[inner] = value
  }
  return settings
}

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
