import type { Style } from './style.ts'
import type { Terminal } from './terminal.ts'

/** Says what takes long while it does, to a person who watches; nothing is left of it, and nothing of it is in the output. */
export async function withProgress<T>(
  { errors }: Pick<Terminal, 'errors'>,
  style: Style,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  if (!errors.isTTY) return work()
  const began = performance.now()
  const show = () => errors.write(`\r${style.dim(`${what} … ${Math.round((performance.now() - began) / 1000)} s`)}`)
  const timer = setInterval(show, 1_000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    errors.write('\r\x1b[K')
  }
}
