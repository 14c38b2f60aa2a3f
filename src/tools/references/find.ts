/** `ref:` and an address. Prose that happens to begin so is left alone. */
const shape = /^ref:\s*((?:conv:)?(?:fi|ar|tc|so|su|ws|ks|sk|skill):\S[^\n]*|(?:[A-Za-z0-9_-]+\/)?(?:files|outputs|attachments)\/[^\n]+)$/

const longest = 4_096

/** The address that a parameter refers to; undefined when it is an ordinary value. */
export function referenceIn(value: unknown): string | undefined {
  if (typeof value !== 'string' || !value.startsWith('ref:') || value.length > longest) return undefined
  return shape.exec(value)?.[1]?.trim()
}

/** Whether anything in here must be looked up before the tool can run. */
export function hasReference(value: unknown): boolean {
  if (typeof value === 'string') return referenceIn(value) !== undefined
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasReference)
  for (const key in value) if (hasReference((value as { [key: string]: unknown })[key])) return true
  return false
}
