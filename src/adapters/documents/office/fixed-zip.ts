import { loadPackage } from '../structure/packages.ts'

/** Changes the texts and the names of the files of an archive. */
export interface Rewriter {
  text(name: string, text: string): string
  name(name: string): string
  /** Files to add to the archive, with their names. */
  readonly added?: readonly (readonly [string, string])[]
}

/**
 * Packs an office document again, so that equal documents have equal bytes: all files have the time `now`, and a `Rewriter` replaces random
 * values. Archives inside the archive, such as the data of charts, are packed again in the same way.
 */
export async function packAgain(archive: Uint8Array, now: string, rewriter: (names: readonly string[]) => Rewriter): Promise<Uint8Array> {
  const { unzipSync, zipSync, strFromU8, strToU8 } = await loadPackage('fflate', () => import('fflate'))
  const mtime = localDate(now)

  function pack(bytes: Uint8Array): Uint8Array {
    const files = Object.entries(unzipSync(bytes)).filter(([name]) => !name.endsWith('/'))
    const rewrite = rewriter(files.map(([name]) => name))
    const packed = files.map(([name, content]): [string, Uint8Array] => {
      if (/\.(?:xlsx|docx|pptx)$/.test(name)) return [rewrite.name(name), pack(content)]
      return [rewrite.name(name), /\.(?:xml|rels)$/.test(name) ? strToU8(rewrite.text(name, strFromU8(content))) : content]
    })
    const added = (rewrite.added ?? []).map(([name, text]): [string, Uint8Array] => [name, strToU8(text)])
    return zipSync(Object.fromEntries([...packed, ...added]), { mtime, level: 6 })
  }
  return pack(archive)
}

/**
 * A date whose local time is the given time in UTC. The package that writes archives stores local times. With this date, the stored time
 * does not depend on the time zone of the machine.
 */
function localDate(now: string): Date {
  const date = new Date(now)
  const day = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()] as const
  return new Date(...day, date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds())
}

/**
 * Replaces the group of a pattern by a number in each match. Equal texts get the same number. The first text gets 1, the next different
 * text gets 2, and so on.
 */
export function numberMatches(text: string, pattern: RegExp, numbers: Map<string, number>, format: (number: number) => string): string {
  return text.replace(pattern, (match, value: string) => {
    const number = numbers.get(value) ?? numbers.size + 1
    numbers.set(value, number)
    return match.replace(value, format(number))
  })
}
