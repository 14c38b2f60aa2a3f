import { Settings } from './settings.ts'

/** The environment variable of every setting. */
export const variables = {
  model: 'DAYBOOK_MODEL',
  fallbackModel: 'DAYBOOK_FALLBACK_MODEL',
  dialect: 'DAYBOOK_DIALECT',
  agent: 'DAYBOOK_AGENT',
  data: 'DAYBOOK_DATA',
  store: 'DAYBOOK_STORE',
  databaseUrl: 'DAYBOOK_DATABASE_URL',
  databaseConnections: 'DAYBOOK_DATABASE_CONNECTIONS',
  databasePrepare: 'DAYBOOK_DATABASE_PREPARE',
  databaseListenUrl: 'DAYBOOK_DATABASE_LISTEN_URL',
  redisUrl: 'DAYBOOK_REDIS_URL',
  's3.bucket': 'DAYBOOK_S3_BUCKET',
  's3.endpoint': 'DAYBOOK_S3_ENDPOINT',
  's3.region': 'DAYBOOK_S3_REGION',
  's3.addressing': 'DAYBOOK_S3_ADDRESSING',
  's3.prefix': 'DAYBOOK_S3_PREFIX',
  's3.accessKeyId': 'DAYBOOK_S3_ACCESS_KEY_ID',
  's3.secretAccessKey': 'DAYBOOK_S3_SECRET_ACCESS_KEY',
  's3.sessionToken': 'DAYBOOK_S3_SESSION_TOKEN',
  role: 'DAYBOOK_ROLE',
  'work.conversations': 'DAYBOOK_WORK_CONVERSATIONS',
  'work.perTenant': 'DAYBOOK_WORK_PER_TENANT',
  'work.attempts': 'DAYBOOK_WORK_ATTEMPTS',
  'work.backlog': 'DAYBOOK_WORK_BACKLOG',
  host: 'DAYBOOK_HOST',
  port: 'DAYBOOK_PORT',
  workspace: 'DAYBOOK_WORKSPACE',
  workspaceRemote: 'DAYBOOK_WORKSPACE_REMOTE',
  'auth.secret': 'DAYBOOK_AUTH_SECRET',
  'auth.publicKey': 'DAYBOOK_AUTH_PUBLIC_KEY',
  'auth.jwksUrl': 'DAYBOOK_AUTH_JWKS_URL',
  'auth.issuer': 'DAYBOOK_AUTH_ISSUER',
  'auth.audience': 'DAYBOOK_AUTH_AUDIENCE',
  origins: 'DAYBOOK_ORIGINS',
  userThinking: 'DAYBOOK_USER_THINKING',
  'budget.rounds': 'DAYBOOK_BUDGET_ROUNDS',
  'budget.money': 'DAYBOOK_BUDGET_MONEY',
  'budget.tokens': 'DAYBOOK_BUDGET_TOKENS',
  'budgets.conversation': 'DAYBOOK_BUDGETS_CONVERSATION',
  'budgets.user': 'DAYBOOK_BUDGETS_USER',
  'budgets.tenant': 'DAYBOOK_BUDGETS_TENANT',
  'budgets.tenantDay': 'DAYBOOK_BUDGETS_TENANT_DAY',
  'budgets.day': 'DAYBOOK_BUDGETS_DAY',
  'budgets.whenReached': 'DAYBOOK_BUDGETS_WHEN_REACHED',
  'budgets.cheaperModel': 'DAYBOOK_BUDGETS_CHEAPER_MODEL',
  'limits.requestsPerMinute': 'DAYBOOK_LIMITS_REQUESTS_PER_MINUTE',
  'limits.turnsPerMinute': 'DAYBOOK_LIMITS_TURNS_PER_MINUTE',
  'limits.runningTurns': 'DAYBOOK_LIMITS_RUNNING_TURNS',
  sandbox: 'DAYBOOK_SANDBOX',
  'programs.seconds': 'DAYBOOK_PROGRAMS_SECONDS',
  'programs.memoryMb': 'DAYBOOK_PROGRAMS_MEMORY_MB',
  'programs.diskMb': 'DAYBOOK_PROGRAMS_DISK_MB',
  tokenCounter: 'DAYBOOK_TOKEN_COUNTER',
  'web.fetch': 'DAYBOOK_WEB_FETCH',
  'web.search': 'DAYBOOK_WEB_SEARCH',
  'web.robots': 'DAYBOOK_WEB_ROBOTS',
  'web.allow': 'DAYBOOK_WEB_ALLOW',
  'web.archive': 'DAYBOOK_WEB_ARCHIVE',
  'web.refinement': 'DAYBOOK_WEB_REFINEMENT',
  mcp: 'DAYBOOK_MCP',
  telemetry: 'DAYBOOK_TELEMETRY',
  memorySearch: 'DAYBOOK_MEMORY_SEARCH',
  embedding: 'DAYBOOK_EMBEDDING',
  skills: 'DAYBOOK_SKILLS',
  knowledge: 'DAYBOOK_KNOWLEDGE',
  browser: 'DAYBOOK_BROWSER',
  logLevel: 'DAYBOOK_LOG_LEVEL',
  server: 'DAYBOOK_SERVER',
  token: 'DAYBOOK_TOKEN',
} as const

export type SettingName = keyof typeof variables

const defaults: SettingsLayer = {
  origin: 'default',
  values: {
    model: 'offline',
    dialect: 'auto',
    data: '.daybook',
    store: 'sqlite',
    's3.region': 'us-east-1',
    's3.addressing': 'path',
    role: 'both',
    'work.conversations': 1_000,
    'work.attempts': 10,
    'work.backlog': 20_000,
    host: '127.0.0.1',
    port: 4127,
    workspace: 'custom',
    origins: [],
    userThinking: 'shown',
    'budget.rounds': 15,
    'budgets.whenReached': 'wrap-up',
    'limits.requestsPerMinute': 1_200,
    'limits.turnsPerMinute': 120,
    'limits.runningTurns': 32,
    sandbox: 'auto',
    tokenCounter: 'rough',
    telemetry: 'off',
    memorySearch: 'on',
    skills: ['built-in'],
    knowledge: [],
    'web.fetch': 'off',
    'web.search': 'auto',
    'web.robots': 'respect',
    'web.archive': 'off',
    'web.refinement': 'off',
    logLevel: 'info',
  },
}

/** Settings whose values are never printed. */
export const secretSettings: ReadonlySet<SettingName> = new Set([
  'databaseUrl',
  'databaseListenUrl',
  'redisUrl',
  's3.accessKeyId',
  's3.secretAccessKey',
  's3.sessionToken',
  'auth.secret',
  'token',
])

/** The settings that come from one origin. Origins are the flags, the environment, a configuration file and the defaults. */
export interface SettingsLayer {
  readonly origin: string
  readonly values: Readonly<Partial<Record<SettingName, unknown>>>
}

export interface EffectiveSettings {
  readonly settings: Settings
  /** Where the value of each setting comes from: the name of an environment variable, the path of a file, or the origin of the layer. */
  readonly origins: Readonly<Partial<Record<SettingName, string>>>
}

/**
 * Merges the layers and validates the result. Earlier layers have priority over later layers, and the defaults have the lowest priority.
 */
export function effectiveSettings(layers: readonly SettingsLayer[]): EffectiveSettings {
  const values: Partial<Record<SettingName, unknown>> = {}
  const origins: Partial<Record<SettingName, string>> = {}
  for (const { origin, values: layerValues } of [defaults, ...layers.toReversed()]) {
    for (const [name, value] of Object.entries(layerValues) as [SettingName, unknown][]) {
      if (value === undefined) continue
      values[name] = value
      origins[name] = origin === 'environment' ? variables[name] : origin
    }
  }
  const parsed = Settings.safeParse(toNested(values))
  if (parsed.success) return { settings: parsed.data, origins }
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = path.slice(0, groups.has(String(path[0])) ? 2 : 1).join('.') as SettingName
    const origin = origins[name] === 'flag' ? `--${name}` : origins[name]
    return `${name} (${origin ?? 'not set'}): ${message}`
  })
  throw new RangeError(`invalid settings: ${problems.join('; ')}`)
}

/**
 * Settings from `DAYBOOK_*` variables. Throws an error for a `DAYBOOK_*` variable that belongs to no setting, because its name is probably
 * misspelt.
 */
export function environmentLayer(environment: Readonly<Record<string, string | undefined>>): SettingsLayer {
  const names = new Map(Object.entries(variables).map(([name, variable]) => [variable as string, name as SettingName]))
  const set = Object.entries(environment).filter(
    ([variable, value]) => variable.startsWith('DAYBOOK_') && value !== undefined && value !== '',
  )
  const unknown = set.filter(([variable]) => !names.has(variable)).map(([variable]) => variable)
  if (unknown.length > 0) throw new RangeError(`unknown setting ${unknown.join(', ')}; the settings are ${[...names.keys()].join(', ')}`)
  return { origin: 'environment', values: Object.fromEntries(set.map(([variable, value]) => [names.get(variable), value])) }
}

/** Settings from the default export of a configuration file. */
export function fileLayer(file: string, exported: unknown): SettingsLayer {
  if (!isPlainObject(exported)) throw new RangeError(`${file} must export its settings as default: export default { model: '…' }`)
  const values = toFlat(exported)
  const unknown = Object.keys(values).filter((name) => !(name in variables))
  if (unknown.length > 0)
    throw new RangeError(`unknown setting ${unknown.join(', ')} in ${file}; the settings are ${Object.keys(variables).join(', ')}`)
  return { origin: file, values }
}

const groups = new Set(Object.keys(variables).flatMap((name) => (name.includes('.') ? [name.slice(0, name.indexOf('.'))] : [])))

function toFlat(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) =>
      groups.has(name) && isPlainObject(value)
        ? Object.entries(value).map(([inner, innerValue]) => [`${name}.${inner}`, innerValue])
        : [[name, value]],
    ),
  )
}

function toNested(values: Readonly<Partial<Record<SettingName, unknown>>>): unknown {
  const settings: Record<string, unknown> = Object.fromEntries([...groups].map((group) => [group, {}]))
  for (const [name, value] of Object.entries(values)) {
    const [group = '', inner] = name.split('.')
    if (inner === undefined) settings[name] = value
    else (settings[group] as Record<string, unknown>)[inner] = value
  }
  return settings
}

const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
