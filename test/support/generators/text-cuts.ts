import fc from 'fast-check'

/** Many ways to cut a text into the pieces in which it may arrive. */
export function everySegmentation(text: string, random = 500): readonly (readonly string[])[] {
  return [[text], singles(text), ...twoWay(text), ...randomly(text, random)]
}

export const singles = (text: string): readonly string[] => text.split('')

export const twoWay = (text: string): readonly (readonly string[])[] =>
  Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => [text.slice(0, at + 1), text.slice(at + 1)])

export function cutAt(text: string, cuts: readonly number[]): readonly string[] {
  const places = [...new Set(cuts.map((cut) => (text.length === 0 ? 0 : cut % text.length)))].filter((at) => at > 0).sort((a, b) => a - b)
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length))
}

/** Random cuts. The random numbers start with a fixed seed, so that every run has the same cuts. */
function randomly(text: string, count: number): readonly (readonly string[])[] {
  let seed = 42
  const next = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed
  }
  return Array.from({ length: count }, () => cutAt(text, Array.from({ length: 1 + (next() % 12) }, next)))
}

const fragments = [
  '<channel:answer>',
  '</channel:answer>',
  '<channel:thinking>',
  '</channel:thinking>',
  '<channel:action>',
  '</channel:action>',
  '<channel:code>',
  '</channel:code>',
  '<channel:page>',
  '</channel:page>',
  '<CHANNEL:Decision>',
  '< / channel:answer >',
  '<channel:bar>',
  '</channel:bar>',
  '<chan',
  '<channel:',
  '</',
  '<',
  '>',
  '`',
  '``',
  '```',
  '```py\n',
  '\n```\n',
  '\n   ~~~~ ',
  '\n',
  '\r\n',
  ' ',
  '    ',
  '\t',
  '"',
  '\\',
  '{"a":"',
  '"}',
  '[',
  ']',
  '[[',
  ']]',
  '!',
  '[[S:1]]',
  '[[S:1,3]]',
  '[[S:2-4]]',
  '[[S:9]]',
  '[[S:',
  '[[USAGE:2]]',
  '[[usage:',
  '［［S：1］］',
  '[\u200b[s : 2 – 1 ]]',
  '`[[S:1]]`',
  "<sup class='cite' data-sids='1,2'>",
  '<sup class="cite">',
  '</sup>',
  '1',
  ',',
  'x',
  'words and more words',
  '😀',
  '\ud83d',
  '\ude00',
  '\u200f',
  '\u0000',
  'é',
]

const openings = ['', '', '<channel:answer>', '<channel:action>{"a":"', '<channel:code>x\n', '<channel:page>']

/** Texts that consist of tokens with a meaning for a parser, in any order. */
export function hostileText(most = 24): fc.Arbitrary<string> {
  const fragment = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...fragments) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
  )
  return fc.tuple(fc.constantFrom(...openings), fc.array(fragment, { maxLength: most })).map(([opening, parts]) => opening + parts.join(''))
}

export const cuts = fc.array(fc.nat(10_000), { maxLength: 12 })
