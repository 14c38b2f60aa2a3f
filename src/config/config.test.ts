import { expect, it } from 'vitest'
import { effectiveSettings, environmentLayer, fileLayer, type SettingsLayer } from './config.ts'

const flags: SettingsLayer = { origin: 'flag', values: { port: '1' } }

it('has a default for every setting that needs one', () => {
  expect(effectiveSettings([environmentLayer({ PATH: '/bin' })]).settings).toEqual({
    model: 'offline',
    dialect: 'auto',
    data: '.daybook',
    store: 'sqlite',
    role: 'both',
    work: { conversations: 1_000, attempts: 10, backlog: 20_000 },
    host: '127.0.0.1',
    port: 4127,
    workspace: 'custom',
    auth: {},
    origins: [],
    userThinking: 'shown',
    budget: { rounds: 15 },
    budgets: { whenReached: 'wrap-up' },
    limits: { requestsPerMinute: 1_200, turnsPerMinute: 120, runningTurns: 32 },
    sandbox: 'auto',
    programs: {},
    s3: { region: 'us-east-1', addressing: 'path' },
    tokenCounter: 'rough',
    telemetry: 'off',
    web: { fetch: 'off', search: 'auto', robots: 'respect', archive: 'off', refinement: 'off' },
    logLevel: 'info',
    memorySearch: 'on',
    skills: ['built-in'],
    knowledge: [],
  })
})

it('accepts only known values of userThinking', () => {
  const userThinking = (value: string) => effectiveSettings([environmentLayer({ DAYBOOK_USER_THINKING: value })]).settings.userThinking
  expect(userThinking('withheld')).toBe('withheld')
  expect(() => userThinking('hidden')).toThrow('userThinking (DAYBOOK_USER_THINKING)')
})

it('flags win over the environment, and the environment over the file', () => {
  const environment = environmentLayer({ DAYBOOK_PORT: '2', DAYBOOK_DATA: 'here', DAYBOOK_BUDGET_MONEY: '0.5' })
  const file = fileLayer('daybook.config.ts', { port: 3, data: 'there', host: '::1', auth: { secret: 's' } })
  const { settings, origins } = effectiveSettings([flags, environment, file])
  expect(settings).toMatchObject({ port: 1, data: 'here', host: '::1', auth: { secret: 's' }, budget: { rounds: 15, money: 0.5 } })
  expect(origins).toMatchObject({
    port: 'flag',
    data: 'DAYBOOK_DATA',
    host: 'daybook.config.ts',
    'auth.secret': 'daybook.config.ts',
    model: 'default',
  })
})

it('reads the limits of budgets from the environment and from a file', () => {
  const environment = environmentLayer({
    DAYBOOK_BUDGETS_DAY: 'tokens=2000000, money=12.5',
    DAYBOOK_BUDGETS_USER: 'money=0',
    DAYBOOK_BUDGETS_WHEN_REACHED: 'ask',
    DAYBOOK_BUDGET_TOKENS: '90000',
    DAYBOOK_LIMITS_TURNS_PER_MINUTE: '7',
  })
  const file = fileLayer('daybook.config.ts', {
    budgets: { day: { money: 1 }, tenantDay: { tokens: 5 }, conversation: { tokens: 9, money: 0.25 } },
    limits: { runningTurns: 3, turnsPerMinute: 8 },
  })
  const { settings, origins } = effectiveSettings([environment, file])
  expect(settings.budgets).toEqual({
    day: { tokens: 2_000_000, money: 12.5 },
    user: { money: 0 },
    tenantDay: { tokens: 5 },
    conversation: { tokens: 9, money: 0.25 },
    whenReached: 'ask',
  })
  expect(settings.budget).toEqual({ rounds: 15, tokens: 90_000 })
  expect(settings.limits).toEqual({ requestsPerMinute: 1_200, turnsPerMinute: 7, runningTurns: 3 })
  expect(origins).toMatchObject({ 'budgets.day': 'DAYBOOK_BUDGETS_DAY', 'budgets.tenantDay': 'daybook.config.ts' })
})

it.each([
  '',
  'tokens',
  'tokens=',
  'tokens=-1',
  'tokens=1.5',
  'money=x',
  'tokens=1,tokens=2',
  'rounds=5',
  'tokens=1 money=2',
  'money=1e400',
  '{}',
  'NaN',
])('refuses %j as limits of a budget, and says what they must be', (text) => {
  const rule =
    'budgets.day (f): must be { tokens, money } or a text such as tokens=2000000,money=5: tokens must be a whole number, and neither may be negative'
  expect(() => effectiveSettings([fileLayer('f', { budgets: { day: text } })])).toThrow(rule)
})

it.each([
  5,
  [],
  { tokens: -1 },
  { tokens: 1.5 },
  { money: Number.NaN },
  { money: Number.POSITIVE_INFINITY },
  { money: 1e10 },
  { rounds: 1 },
  { tokens: '5' },
])('refuses %j as limits of a budget in a file', (value) => {
  expect(() => effectiveSettings([fileLayer('f', { budgets: { day: value } })])).toThrow('budgets.day (f): ')
  expect(() => fileLayer('f', { budgets: { week: value } })).toThrow('unknown setting budgets.week in f')
})

it('says what a setting of a file must be, and names an invalid option as it is typed', () => {
  expect(() => effectiveSettings([fileLayer('daybook.config.ts', { data: '', host: 5 })])).toThrow(
    'invalid settings: data (daybook.config.ts): must be a text that is not empty; host (daybook.config.ts): must be a text that is not empty',
  )
  expect(() => effectiveSettings([{ origin: 'flag', values: { server: 'nonsense' } }])).toThrow('invalid settings: server (--server): ')
  expect(() => effectiveSettings([{ origin: 'daybook.config.ts', values: { agent: 5, model: [], skills: 7 } as never }])).toThrow(
    /model \(daybook\.config\.ts\): must be a name or a model; agent \(daybook\.config\.ts\): must be the path of a module or an agent/,
  )
})

it('accepts a model object from a file', () => {
  const model = { name: 'mine', stream() {} }
  expect(effectiveSettings([fileLayer('daybook.config.ts', { model })]).settings.model).toBe(model)
})

it('rejects unknown settings and lists the known ones', () => {
  expect(() => environmentLayer({ DAYBOOK_DATUM: 'x' })).toThrow(
    /^unknown setting DAYBOOK_DATUM; the settings are DAYBOOK_MODEL, DAYBOOK_FALLBACK_MODEL, DAYBOOK_DIALECT, /,
  )
  expect(() => fileLayer('daybook.config.ts', { auth: { sekret: 'x' } })).toThrow(
    /^unknown setting auth\.sekret in daybook\.config\.ts; the settings are model, fallbackModel, dialect, agent, data, /,
  )
  expect(() => fileLayer('daybook.config.ts', undefined)).toThrow('must export its settings as default')
})

it.each([
  [{ DAYBOOK_PORT: 'many' }, 'port (DAYBOOK_PORT): must be a whole number from 0 to 65535'],
  [{ DAYBOOK_PORT: '70000' }, 'port (DAYBOOK_PORT): must be a whole number from 0 to 65535'],
  [{ DAYBOOK_STORE: 'paper' }, 'store (DAYBOOK_STORE): must be sqlite or memory'],
  [{ DAYBOOK_WORKSPACE: 'cvs' }, 'workspace (DAYBOOK_WORKSPACE): must be custom or git'],
  [{ DAYBOOK_TOKEN_COUNTER: 'none' }, 'tokenCounter (DAYBOOK_TOKEN_COUNTER): must be rough or o200k'],
  [{ DAYBOOK_SANDBOX: 'on' }, 'sandbox (DAYBOOK_SANDBOX): must be auto or off'],
  [{ DAYBOOK_S3_ENDPOINT: 'here' }, 's3.endpoint (DAYBOOK_S3_ENDPOINT): must be an address such as https://s3.eu-west-1.amazonaws.com'],
  [{ DAYBOOK_PROGRAMS_SECONDS: '0' }, 'programs.seconds (DAYBOOK_PROGRAMS_SECONDS): must be a whole number from 1 to 86400'],
  [{ DAYBOOK_PROGRAMS_MEMORY_MB: '8' }, 'programs.memoryMb (DAYBOOK_PROGRAMS_MEMORY_MB): must be a whole number from 16 to 1048576'],
  [{ DAYBOOK_PROGRAMS_DISK_MB: 'x' }, 'programs.diskMb (DAYBOOK_PROGRAMS_DISK_MB): must be a whole number from 16 to 1048576'],
  [{ DAYBOOK_BUDGET_ROUNDS: 'x' }, 'budget.rounds (DAYBOOK_BUDGET_ROUNDS): must be a whole number from 1 to 1000'],
  [{ DAYBOOK_BUDGET_ROUNDS: '1.5' }, 'budget.rounds (DAYBOOK_BUDGET_ROUNDS): must be a whole number from 1 to 1000'],
  [{ DAYBOOK_BUDGET_ROUNDS: '0' }, 'budget.rounds (DAYBOOK_BUDGET_ROUNDS): must be a whole number from 1 to 1000'],
  [{ DAYBOOK_BUDGET_MONEY: '-1' }, 'budget.money (DAYBOOK_BUDGET_MONEY): must be a number above 0'],
  [{ DAYBOOK_BUDGET_MONEY: 'x' }, 'budget.money (DAYBOOK_BUDGET_MONEY): must be a number above 0'],
  [{ DAYBOOK_BUDGET_TOKENS: '0' }, 'budget.tokens (DAYBOOK_BUDGET_TOKENS): must be a whole number of tokens above 0'],
  [{ DAYBOOK_BUDGETS_WHEN_REACHED: 'stop' }, 'budgets.whenReached (DAYBOOK_BUDGETS_WHEN_REACHED): must be wrap-up or ask or cheaper-model'],
  [{ DAYBOOK_LIMITS_RUNNING_TURNS: '0' }, 'limits.runningTurns (DAYBOOK_LIMITS_RUNNING_TURNS): must be a whole number from 1 to 1000000'],
  [
    { DAYBOOK_LIMITS_REQUESTS_PER_MINUTE: 'Infinity' },
    'limits.requestsPerMinute (DAYBOOK_LIMITS_REQUESTS_PER_MINUTE): must be a whole number from 1 to 1000000000',
  ],
  [{ DAYBOOK_SERVER: 'ftp://x' }, 'server (DAYBOOK_SERVER): must be an address such as http://127.0.0.1:4127'],
  [{ DAYBOOK_AUTH_JWKS_URL: 'keys' }, 'auth.jwksUrl (DAYBOOK_AUTH_JWKS_URL): must be an address such as https://login.example/keys'],
] as const)('names the invalid setting and where it comes from: %j', (environment, message) => {
  expect(() => effectiveSettings([environmentLayer(environment)])).toThrow(message)
})
