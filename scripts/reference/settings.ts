import { defaultAgentSettings } from '../../src/agent/settings.ts'
import { effectiveSettings, type SettingName, secretSettings, variables } from '../../src/config/config.ts'
import { defaultServerSettings } from '../../src/server/settings.ts'
import { fieldComments } from './comments.ts'
import { code, page, table, withTexts } from './markdown.ts'

/** Texts for settings that have no comment in the source. */
const commandTexts: Readonly<Record<string, string>> = {
  's3.bucket': 'The name of the bucket.',
  's3.region': 'The region of the bucket.',
  's3.accessKeyId': 'The id of the key for the bucket.',
  's3.secretAccessKey': 'The secret key for the bucket.',
  's3.sessionToken': 'The token of a temporary key for the bucket.',
  host: 'The address on which a server listens.',
  'auth.secret': 'The shared secret of tokens that are signed with HS256.',
  'auth.publicKey': 'The public key, in PEM, of tokens that are signed with EdDSA.',
  'auth.jwksUrl': 'The address of a JSON Web Key Set with the keys of tokens.',
  'auth.issuer': 'The issuer that every token must name.',
  'auth.audience': 'The audience that every token must name.',
  'budget.rounds': 'The greatest number of rounds of one turn.',
  'programs.seconds': 'The longest duration of one program, in seconds.',
  'programs.memoryMb': 'How much memory one program may use, in MiB.',
  'programs.diskMb': 'How much one program may write, in MiB.',
  logLevel: 'Which lines a server writes to its log: `silent`, `error`, `warn` or `info`.',
  token: 'The token for `server`.',
}

const agentTexts: Readonly<Record<string, string>> = {
  priceOf: 'Returns the price of a model call. Default: list prices in US dollars.',
  decision: 'The output limit and the temperature of calls for decisions.',
  wrapUp: 'The output limit and the temperature of calls in a wrap-up.',
  gate: 'The output limit and the temperature of the call for the title.',
  keepRecentTurns: 'How many of the newest turns a compaction does not summarise, if they fit into the prompt.',
  cache: 'Where cache points are placed (type `CachePolicy`).',
  expiry: "Which old blocks are hidden after the provider's cache has expired (type `ExpirySettings`).",
  timezone: 'The time zone of the user. The announce tells it to the model.',
  sources: 'Which files become sources (type `SourceSettings`).',
}

const serverTexts: Readonly<Record<string, string>> = {
  host: 'The address to listen on.',
  port: 'The port to listen on. With 0, the system chooses a free port.',
  auth: 'How the tokens of clients are checked. With `{ kind: "local" }` there are no tokens, and only requests from this machine are answered.',
  requestsPerMinute: 'How many requests of one user are answered in a minute.',
  turnsPerMinute: 'How many messages of one user are accepted in a minute.',
  followersPerUser: 'How many event streams one user may have at the same time.',
}

export function settingsPage(): string {
  return page(
    'Settings',
    'There are three sets of settings: those of the command `daybook` and its server, those of an agent in your own program, and those of a server in your own program.',
    '## The command and its server',
    'A setting comes from an option of the command, from its environment variable, or from the default export of `daybook.config.ts`. The first of these that has a value is used. [The command line](../cli.md#settings) describes how they work together. `npx daybook config` prints the settings that are in effect, and where each comes from.',
    table(['setting', 'variable', 'default', 'meaning'], commandRows()),
    '## An agent',
    'These settings are the option `settings` of [`createAgent`](../sdk.md#settings).',
    table(
      ['setting', 'default', 'meaning'],
      rowsOf(defaultAgentSettings, commentsOf('src/agent/settings.ts', 'export interface AgentSettings {', agentTexts)),
    ),
    '## A server in your own program',
    'These settings are the option `settings` of [`serve`](../server.md#limits), and options of [`createHandler`](../server.md#in-your-own-application), which does not have `host`, `port`, `headersMs` and `requestMs`.',
    table(
      ['setting', 'default', 'meaning'],
      rowsOf(defaultServerSettings, commentsOf('src/server/settings.ts', 'export interface ServerSettings {', serverTexts)),
    ),
  )
}

function commandRows(): readonly (readonly string[])[] {
  const texts = commentsOf('src/config/settings.ts', 'export const Settings = z.strictObject({', commandTexts)
  const groups = new Set(Object.keys(variables).flatMap((name) => (name.includes('.') ? [name.split('.')[0] as string] : [])))
  const named = Object.fromEntries(Object.entries(texts).filter(([name]) => !groups.has(name)))
  const { settings } = effectiveSettings([])
  return withTexts('setting', Object.keys(variables), named).map(([name = '', text = '']) => {
    const setting = name.slice(1, -1) as SettingName
    const secret = secretSettings.has(setting) ? ' This value is secret: it is never printed.' : ''
    return [name, code(variables[setting]), defaultText(valueAt(settings, setting)), `${text}${secret}`]
  })
}

const commentsOf = (file: string, start: string, own: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(fieldComments(file, start)).filter(([, text]) => text !== '')),
  ...own,
})

const rowsOf = (defaults: object, texts: Readonly<Record<string, string>>): readonly (readonly string[])[] =>
  withTexts('setting', Object.keys(defaults), texts).map(([name = '', text = '']) => [
    name,
    defaultText(Object.entries(defaults).find(([key]) => code(key) === name)?.[1]),
    text,
  ])

const valueAt = (settings: object, name: string): unknown =>
  name.split('.').reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>>)[key], settings)

function defaultText(value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none'
  if (typeof value === 'object' && value !== null && JSON.stringify(value).length > 60) return 'see its type'
  return code(typeof value === 'string' ? value : JSON.stringify(value))
}
