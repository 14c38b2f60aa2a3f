import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../client/client.ts'
import { type EffectiveSettings, effectiveSettings, environmentLayer, fileLayer, type Settings, type SettingsLayer } from '../config.ts'
import { errorMessage } from '../core/failure.ts'
import { importConfiguration, openArchive } from '../wiring.ts'
import { type ConversationClient, localConversationClient, remoteConversationClient } from './conversation-client.ts'
import type { Terminal } from './terminal.ts'
import { type Style, styleFor } from './terminal.ts'

/** What every command works with. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly style: Style
  /** Flags over environment over file over defaults; `more` are flags of the command itself. */
  settingsWithOrigins(more?: SettingsLayer['values']): Promise<EffectiveSettings>
  settings(more?: SettingsLayer['values']): Promise<Settings>
  /** The conversations, and back on their shelf afterwards. */
  withConversations<T>(use: (shelf: ConversationClient) => Promise<T>): Promise<T>
}

const configurationFiles = ['daybook.config.ts', 'daybook.config.js'] as const

/** `given` comes before everything: from whoever runs the command line inside a program. */
export function createContext(terminal: Terminal, flags: () => SettingsLayer['values'], given: SettingsLayer['values']): CommandContext {
  async function fromFile(): Promise<readonly SettingsLayer[]> {
    const file = configurationFiles.find((name) => existsSync(join(terminal.folder, name)))
    if (file === undefined) return []
    const exported = await importConfiguration(join(terminal.folder, file)).catch((error: unknown) => {
      throw new RangeError(`${file} can not be read: ${errorMessage(error)}`, { cause: error })
    })
    return [fileLayer(file, exported)]
  }
  const effective: CommandContext['settingsWithOrigins'] = async (more = {}) =>
    effectiveSettings([
      { origin: 'given', values: given },
      { origin: 'flag', values: { ...flags(), ...more } },
      environmentLayer(terminal.environment),
      ...(await fromFile()),
    ])

  return {
    terminal,
    style: styleFor(terminal.output, terminal.environment),
    settingsWithOrigins: effective,
    settings: async (more) => (await effective(more)).settings,
    async withConversations(use) {
      const shelf = await openConversationClient((await effective()).settings)
      try {
        return await use(shelf)
      } finally {
        await shelf.close()
      }
    },
  }
}

async function openConversationClient(settings: Settings): Promise<ConversationClient> {
  const { server, token } = settings
  if (server !== undefined) return remoteConversationClient(createClient({ baseUrl: server, ...(token !== undefined && { token }) }))
  const { archive, close } = await openArchive(settings)
  return localConversationClient(archive, close)
}
