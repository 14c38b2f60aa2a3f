/** Seeds 001 and 003: where a file is hosted is nobody's business but the runtime's. */
const hosting: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

export const isHostingField = (field: string): boolean => hosting.has(field)
