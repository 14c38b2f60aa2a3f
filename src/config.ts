import { z } from 'zod'

/** Every setting, with what holds when nobody says otherwise. */
export const Settings = z.strictObject({
  /** Where the embedded store lives. */
  data: z.string().min(1).default('.daybook'),
  /** `provider/model`; keys are read from the providers' own variables. */
  model: z.string().min(1).default('offline'),
  /** How versions of a conversation's files are kept: in the journal, or in git. */
  workspace: z.enum(['custom', 'git']).default('custom'),
  /** With git: another bare repository, by path or address, that all machines share. */
  workspaceRemote: z.string().min(1).optional(),
})
export type Settings = z.infer<typeof Settings>

const variables = {
  DAYBOOK_DATA: 'data',
  DAYBOOK_MODEL: 'model',
  DAYBOOK_WORKSPACE: 'workspace',
  DAYBOOK_WORKSPACE_REMOTE: 'workspaceRemote',
} as const satisfies Record<`DAYBOOK_${string}`, keyof Settings>

/** From `DAYBOOK_*`. A variable that no setting has is a mistake worth hearing of, not one to pass over. */
export function settingsFrom(environment: Readonly<Record<string, string | undefined>>): Settings {
  const given = Object.entries(environment).filter(([name, value]) => name.startsWith('DAYBOOK_') && value !== undefined && value !== '')
  const unknown = given.filter(([name]) => !(name in variables)).map(([name]) => name)
  if (unknown.length > 0) {
    throw new RangeError(`unknown setting ${unknown.join(', ')}; there is ${Object.keys(variables).join(', ')}`)
  }
  return Settings.parse(Object.fromEntries(given.map(([name, value]) => [variables[name as keyof typeof variables], value])))
}
