import { type Part, parseExpression } from './parse.ts'

/** A text that may be slow: `prefix`, then `pump` many times, then `suffix`. */
export interface Shape {
  readonly prefix: string
  readonly pump: string
  readonly suffix: string
}

/** The shape as a text of about `length` characters. */
export const textOf = ({ prefix, pump, suffix }: Shape, length: number) =>
  prefix + pump.repeat(Math.max(1, Math.floor((length - prefix.length - suffix.length) / pump.length))) + suffix

/** A character that hardly any expression names. */
const OTHER = '\u0001'

/**
 * Shapes that may be slow for an expression. An expression is slow if a match can start at many positions and each attempt reads far, or if
 * a text can be divided between two repeated parts in many ways. So the shapes repeat every beginning of a match, and after every beginning
 * they repeat each character of the expression.
 */
export function shapesOf(expression: RegExp): readonly Shape[] {
  const part = parseExpression(expression)
  const beginnings = [...new Set(beginningsOf(part, ''))].slice(0, 80)
  const characters = [...new Set(inTurns(repeatedCharacters(part)))].slice(0, 10)
  const shapes = new Map<string, Shape>()
  const add = (prefix: string, pump: string, suffix: string) => {
    if (pump !== '') shapes.set(JSON.stringify([prefix, pump, suffix]), { prefix, pump, suffix })
  }
  for (const character of characters) {
    add(OTHER, character, '')
    add(OTHER, character, OTHER)
    for (const second of characters) add('', `${character}${second}`, OTHER)
  }
  for (const beginning of beginnings) {
    add('', beginning, '')
    add('', beginning, OTHER)
    for (const character of characters) {
      add(beginning, character, '')
      add(beginning, character, OTHER)
      add(beginning, character, '\nx')
      add('', `${beginning}${character}`, '')
    }
  }
  return [...shapes.values()]
}

/** For each part, samples of the text that a match has read before it reaches the part. */
function beginningsOf(part: Part, before: string): readonly string[] {
  switch (part.kind) {
    case 'one':
      return part.samples.length > 1 ? [before, before + part.samples[0]] : []
    case 'look':
      return beginningsOf(part.part, before)
    case 'either':
      return part.parts.flatMap((each) => beginningsOf(each, before))
    case 'repeat':
      return [before, ...beginningsOf(part.part, before + sample(part.part).repeat(Math.min(part.min, 64))), before + sample(part.part)]
    case 'all': {
      let read = before
      return part.parts
        .flatMap((each) => {
          const beginnings = beginningsOf(each, read)
          read += sample(each)
          return beginnings
        })
        .concat(read)
    }
    default:
      return part satisfies never
  }
}

/** A short text that the part matches. */
function sample(part: Part): string {
  switch (part.kind) {
    case 'one':
      return part.samples[0] ?? ''
    case 'look':
      return ''
    case 'either':
      return sample(part.parts[0] as Part)
    case 'repeat':
      return sample(part.part).repeat(Math.min(part.min, 64))
    case 'all':
      return part.parts.map(sample).join('')
    default:
      return part satisfies never
  }
}

/** For each repeated part: characters that it can match. The characters that the expression names come first. */
function repeatedCharacters(part: Part): readonly (readonly string[])[] {
  switch (part.kind) {
    case 'one':
    case 'look':
      return []
    case 'either':
    case 'all':
      return part.parts.flatMap(repeatedCharacters)
    case 'repeat':
      return part.max > 1 ? charactersIn(part.part) : repeatedCharacters(part.part)
    default:
      return part satisfies never
  }
}

function charactersIn(part: Part): readonly (readonly string[])[] {
  if (part.kind === 'one') return [part.samples.slice(0, 5)]
  if (part.kind === 'repeat' || part.kind === 'look') return charactersIn(part.part)
  return part.parts.flatMap(charactersIn)
}

/** The first of every list, then the second of every list, and so on. */
const inTurns = (lists: readonly (readonly string[])[]): readonly string[] =>
  [0, 1, 2, 3, 4].flatMap((index) => lists.flatMap((list) => list[index] ?? []))
