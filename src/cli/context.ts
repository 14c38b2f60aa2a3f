import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../client/client.ts'
import { type EffectiveSettings, effectiveSettings, environmentLayer, fileLayer, type Layer, type Settings } from '../config.ts'
import { thrownMessage } from '../core/failure.ts'
import { importConfiguration, openArchive } from '../wiring.ts'
import { type Shelf, shelfOfArchive, shelfOfServer } from './shelf.ts'
import { type Style, styleFor } from './style.ts'
import type { Terminal } from './terminal.ts'

/** What every command works with. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly style: Style
  /** Flags over environment over file over defaults; `more` are flags of the command itself. */
  effective(more?: Layer['values']): Promise<EffectiveSettings>
  settings(more?: Layer['values']): Promise<Settings>
  /** The conversations, and back on their shelf afterwards. */
  withShelf<T>(use: (shelf: Shelf) => Promise<T>): Promise<T>
}

const configurationFiles = ['daybook.config.ts', 'daybook.config.js'] as const

/** `given` comes before everything: from whoever runs the command line inside a program. */
export function createContext(terminal: Terminal, flags: () => Layer['values'], given: Layer['values']): CommandContext {
  async function fromFile(): Promise<readonly Layer[]> {
    const file = configurationFiles.find((name) => existsSync(join(terminal.folder, name)))
    if (file === undefined) return []
    const exported = await importConfiguration(join(terminal.folder, file)).catch((error: unknown) => {
      throw new RangeError(`${file} can not be read: ${thrownMessage(error)}`, { cause: error })
    })
    return [fileLayer(file, exported)]
  }
  const effective: CommandContext['effective'] = async (more = {}) =>
    effectiveSettings([
      { origin: 'given', values: given },
      { origin: 'flag', values: { ...flags(), ...more } },
      environmentLayer(terminal.environment),
      ...(await fromFile()),
    ])

  return {
    terminal,
    style: styleFor(terminal.output, terminal.environment),
    effective,
    settings: async (more) => (await effective(more)).settings,
    async withShelf(use) {
      const shelf = await openShelf((await effective()).settings)
      try {
        return await use(shelf)
      } finally {
        await shelf.close()
      }
    },
  }
}

async function openShelf(settings: Settings): Promise<Shelf> {
  const { server, token } = settings
  if (server !== undefined) return shelfOfServer(createClient({ baseUrl: server, ...(token !== undefined && { token }) }))
  const { archive, close } = await openArchive(settings)
  return shelfOfArchive(archive, close)
}
