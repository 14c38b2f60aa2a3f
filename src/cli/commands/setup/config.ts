import { Command } from 'commander'
import { type SettingName, secretSettings, variables } from '../../../config/config.ts'
import type { CommandContext } from '../../context.ts'
import { withExamples } from '../../options.ts'
import { plainLine, printLine } from '../../terminal.ts'

export function configCommand({ terminal, style, settingsWithOrigins }: CommandContext): Command {
  const command = new Command('config')
    .description('print every setting and where it comes from; secrets are not shown')
    .action(async () => {
      const { settings, origins } = await settingsWithOrigins()
      for (const name of Object.keys(variables) as SettingName[]) {
        const value = settingValue(settings, name)
        const origin = origins[name] ?? `not set; ${variables[name]}`
        printLine(terminal, `${name.padEnd(16)} ${valueText(name, value).padEnd(28)} ${style.dim(origin)}`.trimEnd())
      }
    })
  return withExamples(command, [
    ['daybook config', ''],
    ['DAYBOOK_MODEL=openai/gpt-5.5 daybook config', 'environment variables override daybook.config.ts, and flags override both'],
  ])
}

function settingValue(settings: object, name: SettingName): unknown {
  return name.split('.').reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>>)[key], settings)
}

function valueText(name: SettingName, value: unknown): string {
  if (value === undefined) return '-'
  if (secretSettings.has(name)) return '********'
  if (name === 'mcp' && typeof value === 'object') return plainLine(Object.keys(value ?? {}).join(', ') || 'none')
  if (Array.isArray(value)) return plainLine(value.join(',') || 'none')
  if (typeof value === 'object') return plainLine(String((value as { readonly name?: unknown }).name ?? objectNames[name] ?? '(an object)'))
  return plainLine(String(value))
}

/** The text that is printed for a setting whose value is an object without a name. */
const objectNames: Readonly<Partial<Record<SettingName, string>>> = { agent: '(an agent)', model: '(a model)' }
