/** `ref:` and an address. Prose that happens to begin so is left alone. */
const referencePattern =
  /^ref:\s*((?:conv:)?(?:fi|ar|tc|so|su|ws|ks|sk|skill):\S[^\n]*|(?:[A-Za-z0-9_-]+\/)?(?:files|outputs|attachments)\/[^\n]+)$/

const maxReferenceLength = 4_096

/** The address that a parameter refers to; undefined when it is an ordinary value. */
export function parseReference(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('ref:') || value.length > maxReferenceLength) return undefined
  return referencePattern.exec(value)?.[1]?.trim()
}

/** Whether anything in here must be looked up before the tool can run. */
export function hasReference(value: unknown): boolean {
  if (typeof value === 'string') return parseReference(value) !== undefined
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasReference)
  for (const key in value) if (hasReference((value as { [key: string]: unknown })[key])) return true
  return false
}
