import { fenceAt } from './channels.ts'

/** One step of a scan: a character or a citation, with its position. */
export interface Step {
  readonly at: number
  readonly text: string
  readonly ids?: readonly number[]
  readonly usage?: boolean
}

const silent = /[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/
const folds: Readonly<Record<string, string>> = { '［': '[', '］': ']', '：': ':', '﹕': ':', '︰': ':', '–': '-', '—': '-' }

/**
 * A second implementation of the rules for citations in Markdown, with which the scanner is compared. It has no code in common with the
 * scanner. It uses regular expressions and is slow.
 */
export function referenceScan(text: string): readonly Step[] {
  const steps: Step[] = []
  let at = 0
  while (at < text.length) {
    const candidate = tokenAt(text, at)
    const token = candidate !== undefined && fenceAt(text.slice(0, at)).fence === '' ? candidate : undefined
    const end = token === undefined ? at : at + token.length
    if (token !== undefined && !(text[at - 1] === '`' && text[end] === '`')) {
      steps.push({ at, text: text.slice(at, end), ids: token.ids, usage: token.usage })
      at = end
    } else {
      // A citation between backticks stays unchanged, and no other citation begins inside it.
      const kept = token === undefined ? String.fromCodePoint(text.codePointAt(at) as number) : text.slice(at, end)
      for (const character of kept) {
        steps.push({ at, text: character })
        at += character.length
      }
    }
  }
  return steps
}

function tokenAt(
  text: string,
  at: number,
): { readonly length: number; readonly ids: readonly number[]; readonly usage: boolean } | undefined {
  if (!/[[［]/.test(text[at] as string)) return undefined
  const seen = [...text.slice(at, at + 96).split('')].map((character, offset) => ({ character: folds[character] ?? character, offset }))
  const visible = seen.filter(({ character }) => !silent.test(character))
  const match = /^\[\[\s*(s|usage)\s*:([^[\]]+)\]\]/i.exec(visible.map(({ character }) => character).join(''))
  if (match === null) return undefined
  const usage = match[1]?.toLowerCase() === 'usage'
  const ids = [...new Set((match[2] as string).split(',').flatMap(range))].filter((id) => id > 0)
  if (ids.length === 0 && !usage) return undefined
  return { length: (visible[match[0].length - 1]?.offset as number) + 1, ids, usage }
}

function range(piece: string): readonly number[] {
  const match = /^(\d{1,15})(?:\s*-\s*(\d{1,15}))?$/.exec(piece.trim())
  if (match === null) return []
  const [from, to] = [Number(match[1]), Number(match[2] ?? match[1])].sort((a, b) => a - b) as [number, number]
  return to - from > 100 ? [] : Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
