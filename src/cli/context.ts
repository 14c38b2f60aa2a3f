import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../client/client.ts'
import { type EffectiveSettings, effectiveSettings, environmentLayer, fileLayer, type Settings, type SettingsLayer } from '../config.ts'
import { errorMessage } from '../core/failure.ts'
import { openArchive } from '../wiring.ts'
import { importConfiguration } from './agent-module.ts'
import { type ConversationClient, localConversationClient, remoteConversationClient } from './conversation-client.ts'
import { type Style, styleFor, type Terminal } from './terminal.ts'

/** The objects and functions that every command uses. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly style: Style
  /**
   * Merges the settings of all sources: flags, environment, configuration file, defaults. An earlier source wins. `more` are flags of the
   * command.
   */
  settingsWithOrigins(more?: SettingsLayer['values']): Promise<EffectiveSettings>
  settings(more?: SettingsLayer['values']): Promise<Settings>
  /**
   * Opens the stored conversations of this machine or of a server, calls `use`, and closes them. With `create`, a data folder is made if
   * there is none.
   */
  withConversations<T>(use: (client: ConversationClient) => Promise<T>, options?: { readonly create: boolean }): Promise<T>
}

const configurationFiles = ['daybook.config.ts', 'daybook.config.js'] as const

/** `given` are settings of a program that calls `main` itself. They win over flags. */
export function createContext(terminal: Terminal, flags: () => SettingsLayer['values'], given: SettingsLayer['values']): CommandContext {
  async function fromFile(): Promise<readonly SettingsLayer[]> {
    const file = configurationFiles.find((name) => existsSync(join(terminal.folder, name)))
    if (file === undefined) return []
    const exported = await importConfiguration(join(terminal.folder, file)).catch((error: unknown) => {
      throw new RangeError(`${file} can not be read: ${errorMessage(error)}`, { cause: error })
    })
    return [fileLayer(file, exported)]
  }
  const settingsWithOrigins: CommandContext['settingsWithOrigins'] = async (more = {}) =>
    effectiveSettings([
      { origin: 'given', values: given },
      { origin: 'flag', values: { ...flags(), ...more } },
      environmentLayer(terminal.environment),
      ...(await fromFile()),
    ])

  return {
    terminal,
    style: styleFor(terminal.output, terminal.environment),
    settingsWithOrigins,
    settings: async (more) => (await settingsWithOrigins(more)).settings,
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
