import { createRequire } from 'node:module'
import type { DocumentOptions, ParseOptions, SchemaOptions, ToJSOptions } from 'yaml'
import { errorMessage, missingPackageText } from '../../core/failure.ts'

/** The value of a YAML text, or the reason why it can not be parsed. All scalars are texts. */
export type YamlValue = { readonly value: unknown } | { readonly problem: string }

/**
 * Parses YAML from a file that may be hostile. Every scalar is read as a text: `1.0` stays a version, and `no` stays a word. Tags do not
 * create objects of other types. Aliases are refused, because a few of them can expand to gigabytes.
 */
export function parseYaml(text: string): YamlValue {
  const yaml = loadYaml()
  if (yaml === undefined) return { problem: `can not be read: ${missingPackageText('yaml')}` }
  try {
    const document = yaml.parseDocument(text, {
      schema: 'failsafe',
      uniqueKeys: false, // duplicate keys are found below, because the package takes quadratic time for this check
      strict: true,
      logLevel: 'silent',
      prettyErrors: false,
    })
    const [error] = document.errors
    if (error) return { problem: `is not valid YAML: ${firstLine(error.message)}` }
    if (hasDuplicateKeys(yaml, document)) return { problem: 'is not valid YAML: Map keys must be unique' }
    return { value: document.toJS({ maxAliasCount: 0 }) }
  } catch (error) {
    if (error instanceof ReferenceError) return { problem: 'has an alias, which is not allowed' }
    if (error instanceof RangeError) return { problem: 'is nested too deeply' } // the recursion of the parser exceeded the stack
    return { problem: `is not valid YAML: ${firstLine(errorMessage(error))}` }
  }
}

function hasDuplicateKeys(yaml: Yaml, document: ReturnType<Yaml['parseDocument']>): boolean {
  let found = false
  yaml.visit(document, {
    Map(_position, { items }) {
      const keys = items.map(({ key }) => (key as { readonly value?: unknown } | null)?.value)
      if (new Set(keys).size === keys.length) return undefined
      found = true
      return yaml.visit.BREAK
    },
  })
  return found
}

const firstLine = (text: string): string => text.split('\n', 1)[0]?.slice(0, 200) ?? ''

interface Yaml {
  readonly visit: {
    (document: object, visitor: { Map(position: unknown, map: { readonly items: readonly { readonly key: unknown }[] }): unknown }): void
    readonly BREAK: symbol
  }
  parseDocument(
    text: string,
    options: ParseOptions & DocumentOptions & SchemaOptions,
  ): { readonly errors: readonly Error[]; toJS(options: ToJSOptions): unknown }
}

let loaded: Yaml | undefined

/** Whether the package that parses YAML is installed. */
export const canParseYaml = (): boolean => loadYaml() !== undefined

/**
 * Loads the package when it is first used. The load is synchronous, because `createAgent` is synchronous. Undefined when the package is not
 * installed.
 */
function loadYaml(): Yaml | undefined {
  try {
    loaded ??= createRequire(import.meta.url)('yaml') as Yaml
    return loaded
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
