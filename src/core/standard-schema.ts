/**
 * The part of the Standard Schema interface (standardschema.dev, version 1) that Daybook uses for the parameters of tools.
 * Zod, Valibot, ArkType and others implement it.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** The parsed value, or the reasons why the value does not match the schema. */
export type StandardResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] }

/** One reason why a value does not match a schema. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export const isSchema = (value: unknown): boolean =>
  typeof (value as Partial<StandardSchemaV1> | null | undefined)?.['~standard']?.validate === 'function'

/**
 * The JSON Schema of the values that a schema accepts. Schemas of zod and arktype provide it, because they implement Standard JSON Schema
 * (standardschema.dev/json-schema). Undefined for other schemas.
 */
export function jsonSchemaOf(schema: StandardSchemaV1): unknown {
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: { input?: (options: { target: string }) => unknown } }
  return typeof jsonSchema?.input === 'function' ? jsonSchema.input({ target: 'draft-2020-12' }) : undefined
}

/** The type of the values that a schema returns after parsing. */
export type OutputOf<Schema extends StandardSchemaV1> = NonNullable<Schema['~standard']['types']>['output']

/** All issues in one line, for people and models. Example: `tool_call.params: expected object; …`. */
export function describeIssues(issues: readonly StandardIssue[]): string {
  return issues.map(({ path = [], message }) => (path.length === 0 ? message : `${path.map(keyOf).join('.')}: ${message}`)).join('; ')
}

const keyOf = (part: PropertyKey | { readonly key: PropertyKey }): string => String(typeof part === 'object' ? part.key : part)
