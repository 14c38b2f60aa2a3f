import { blocksPage } from './blocks.ts'
import { cliPage } from './cli.ts'
import { errorsPage } from './errors.ts'
import { eventsPage } from './events.ts'
import { httpPage } from './http.ts'
import { settingsPage } from './settings.ts'

/** The pages of docs/reference by their names. The pages of the SDK are left out, because they need declaration files. */
export const referencePages = async (): Promise<Readonly<Record<string, string>>> => ({
  'blocks.md': blocksPage(),
  'cli.md': await cliPage(),
  'errors.md': errorsPage(),
  'events.md': eventsPage(),
  'http.md': await httpPage(),
  'settings.md': settingsPage(),
})
