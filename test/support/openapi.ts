/** Checks those parts of an OpenAPI 3.1 document that client generators need. Returns the errors. */
export function openapiErrors(document: unknown): readonly string[] {
  const root = document as Document
  const errors: string[] = []
  if (!/^3\.1\.\d+$/.test(root.openapi ?? '')) errors.push(`openapi is ${root.openapi}`)
  if (!root.info?.title || !root.info.version) errors.push('info needs title and version')
  const names = new Set<string>()
  for (const { method, path, operation } of operationsIn(root)) {
    const where = `${method} ${path}`
    const name = operation.operationId ?? where
    if (names.has(name)) errors.push(`${where}: ${name} appears twice`)
    names.add(name)
    errors.push(...operationErrors(operation, path).map((error) => `${where}: ${error}`))
  }
  if (names.size === 0) errors.push('there are no paths')
  errors.push(...brokenReferences(root))
  return errors
}

export interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly parameters?: readonly {
    readonly name?: string
    readonly in?: string
    readonly required?: boolean
    readonly schema?: object
    readonly description?: string
  }[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }
  readonly responses?: Readonly<
    Record<string, { readonly description?: string; readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >
}

interface Document {
  readonly openapi?: string
  readonly info?: { readonly title?: string; readonly version?: string }
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])

export function operationsIn(
  document: unknown,
): readonly { readonly method: string; readonly path: string; readonly operation: Operation }[] {
  return Object.entries((document as Document).paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => methods.has(method))
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

function operationErrors({ summary, parameters = [], requestBody, responses = {} }: Operation, path: string): readonly string[] {
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string).sort()
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const bodies = [requestBody, ...Object.values(responses)].flatMap((each) => Object.entries(each?.content ?? {}))
  return [
    ...(summary ? [] : ['has no summary']),
    ...(path.startsWith('/') ? [] : ['does not begin with a slash']),
    ...(inPath
      .map(({ name }) => name)
      .sort()
      .join() === named.join()
      ? []
      : [`names ${named} in its path and ${inPath.map(({ name }) => name)} as parameters`]),
    ...inPath.flatMap(({ name, required }) => (required === true ? [] : [`parameter ${name} must be required`])),
    ...parameters.flatMap(({ name, in: place, schema }) =>
      name && place && schema ? [] : [`parameter ${name} is described incompletely`],
    ),
    ...(new Set(parameters.map(({ name, in: place }) => `${place} ${name}`)).size === parameters.length
      ? []
      : ['a parameter appears twice']),
    ...(Object.keys(responses).length > 0 ? [] : ['has no responses']),
    ...Object.entries(responses).flatMap(([status, { description }]) => [
      ...(/^[1-5]\d\d$|^default$/.test(status) ? [] : [`${status} is not a status`]),
      ...(description ? [] : [`${status} is not described`]),
    ]),
    ...bodies.flatMap(([type, { schema }]) => (type.includes('/') && schema ? [] : [`content ${type} has no schema`])),
  ]
}

function brokenReferences(root: Document): readonly string[] {
  const errors: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('$ref' in value && typeof value.$ref === 'string' && resolved(root, value.$ref) === undefined)
      errors.push(`${value.$ref} does not exist`)
    for (const item of Object.values(value)) visit(item)
  }
  visit(root)
  return errors
}

function resolved(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  const keys = reference
    .slice(2)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root)
}
