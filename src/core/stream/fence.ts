/** A text without the fence that models like to put around it. */
export interface FenceContent {
  readonly body: string
  /** There is more text behind the fence; it is not in the body. */
  readonly textAfter: boolean
}

/** One fence off, on one line or on many. Its end is the last one: the body may hold fences of its own. */
export function stripFence(text: string): FenceContent {
  const trimmed = text.trim()
  const opening = trimmed.startsWith('```') ? /^`{3,}[A-Za-z0-9]*/.exec(trimmed)?.[0] : undefined
  if (opening === undefined) return { body: trimmed, textAfter: false }
  const body = trimmed.slice(opening.length)
  const close = body.lastIndexOf('```')
  if (close === -1) return { body: body.trim(), textAfter: false }
  let end = close
  while (body[end - 1] === '`') end--
  return { body: body.slice(0, end).trim(), textAfter: body.slice(close + 3).trim() !== '' }
}
