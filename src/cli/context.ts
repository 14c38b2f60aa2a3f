import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../client/client.ts'
import { type EffectiveSettings, effectiveSettings, environmentLayer, fileLayer, type SettingsLayer } from '../config/config.ts'
import type { Settings } from '../config/settings.ts'
import { type AgentDefinition, defineAgent, definitionLayer } from '../wiring/define-agent.ts'
import { openArchive } from '../wiring/open-agent.ts'
import { type ConversationClient, localConversationClient, remoteConversationClient } from './conversation-client.ts'
import { importConfiguration, loadAgentModule } from './modules/agent-module.ts'
import { createLoad, type ModuleLoad } from './modules/load-module.ts'
import { type Style, styleFor, type Terminal } from './terminal.ts'

/** The settings of a command that runs an agent. */
export type SettingsWithAgent = Omit<Settings, 'agent'> & { readonly agent?: AgentDefinition }

/** The objects and functions that every command uses. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly style: Style
  /**
   * Merges the settings of flags, environment variables, the configuration file and the defaults. If a setting has several values, the
   * first source in this list takes precedence. `more` has the values of flags that only one command has.
   */
  settingsWithOrigins(more?: SettingsLayer['values']): Promise<EffectiveSettings>
  settings(more?: SettingsLayer['values']): Promise<Settings>
  /**
   * Like `settings`, but `agent` is the loaded agent and no longer the path of its module. Only commands that run an agent use this
   * function, so that the other commands work even if the module has an error. With the setting `server`, no module is loaded. `load`
   * collects the files that are imported.
   */
  settingsWithAgent(more?: SettingsLayer['values'], load?: ModuleLoad): Promise<SettingsWithAgent>
  /**
   * Opens the conversations of the local data folder or of a server, calls `use`, and closes them. With `create`, a missing data folder is
   * created.
   */
  withConversations<T>(use: (client: ConversationClient) => Promise<T>, options?: { readonly create: boolean }): Promise<T>
}

const configurationFiles = ['daybook.config.ts', 'daybook.config.js'] as const

/** `given` has settings of a program that calls `main` in its own code. They take precedence over flags. */
export function createContext(terminal: Terminal, flags: () => SettingsLayer['values'], given: SettingsLayer['values']): CommandContext {
  async function fromFile(load: ModuleLoad): Promise<readonly SettingsLayer[]> {
    const file = configurationFiles.find((name) => existsSync(join(terminal.folder, name)))
    if (file === undefined) return []
    return [fileLayer(file, await importConfiguration(join(terminal.folder, file), terminal.folder, load))]
  }
  const layers = async (more: SettingsLayer['values'] = {}, load = createLoad()): Promise<readonly SettingsLayer[]> => [
    { origin: 'given', values: given },
    { origin: 'flag', values: { ...flags(), ...more } },
    environmentLayer(terminal.environment),
    ...(await fromFile(load)),
  ]
  const settingsWithOrigins: CommandContext['settingsWithOrigins'] = async (more) => effectiveSettings(await layers(more))

  return {
    terminal,
    style: styleFor(terminal.output, terminal.environment),
    settingsWithOrigins,
    settings: async (more) => (await settingsWithOrigins(more)).settings,
    async settingsWithAgent(more, load = createLoad()) {
      const given = await layers(more, load)
      const { agent: chosen, ...settings } = effectiveSettings(given).settings
      if (chosen === undefined || settings.server !== undefined) return settings
      const agent = typeof chosen === 'string' ? await loadAgentModule(chosen, terminal.folder, load) : defineAgent(chosen)
      const origin = typeof chosen === 'string' ? chosen : 'agent'
      return { ...effectiveSettings([...given, definitionLayer(origin, agent)]).settings, agent }
    },
    async withConversations(use, options) {
      const client = await openConversationClient((await settingsWithOrigins()).settings, options)
      try {
        return await use(client)
      } finally {
        await client.close()
      }
    },
  }
}

async function openConversationClient(settings: Settings, options?: { readonly create: boolean }): Promise<ConversationClient> {
  const { server, token } = settings
  if (server !== undefined) return remoteConversationClient(createClient({ baseUrl: server, ...(token !== undefined && { token }) }))
  const { archive, close } = await openArchive(settings, options)
  return localConversationClient(archive, close)
}
