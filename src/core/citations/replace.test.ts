import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAt, cuts, everySegmentation, hostileText } from '../../../test/support/generators/text-cuts.ts'
import { referenceScan, type Step } from '../../../test/support/reference/citations.ts'
import type { CitationFormat, CitedSource, SourceMap } from './replace.ts'
import { type CitationReplacerOptions, createCitationReplacer, replaceBatch } from './replace.ts'
import { extractSids } from './sids.ts'

const sources: SourceMap = new Map<number, CitedSource>([
  [1, { title: 'Alpha', url: 'https://a.example/1' }],
  [2, { title: 'Beta [b] | x', url: 'https://b.example/2' }],
  [3, { title: 'NoLink' }],
  [4, { url: 'https://d.example/p' }],
])
const alpha = '[Alpha](https://a.example/1)'
const beta = '[Beta \\[b\\] \\| x](https://b.example/2)'
const delta = '[https://d.example/p](https://d.example/p)'

function run(pieces: readonly string[], options: Partial<CitationReplacerOptions> = {}) {
  const replacer = createCitationReplacer({ format: 'markdown', sources: () => sources, stripUsage: true, ...options })
  const outputs = [...pieces.map((piece) => replacer.push(piece)), replacer.flush()]
  const { used, unresolved, usage } = replacer
  return { text: outputs.join(''), used, unresolved, usage }
}

/** The result for a text. Also checks that the result is the same however the text is divided into chunks. */
function replaced(text: string, options?: Partial<CitationReplacerOptions>, random?: number) {
  const whole = run([text], options)
  for (const pieces of everySegmentation(text, random)) expect(run(pieces, options)).toEqual(whole)
  return whole
}

describe('markdown', () => {
  it('loop 17.5: an unfinished token is text', () => {
    expect(replaced('x [[S:1])')).toMatchObject({ text: 'x [[S:1])', used: [] })
  })

  it('loop 17.7: lists and ranges become links; unknown ids are skipped, and a citation without known ids stays', () => {
    expect(replaced('a [[S:1,3]] b [[S:2-4]] c [[S:9]] d [[S:1,9]] e[[S:x]]')).toEqual({
      text: `a ${alpha} NoLink b ${beta} NoLink ${delta} c [[S:9]] d ${alpha} e[[S:x]]`,
      used: [1, 2, 3, 4, 9],
      unresolved: [9],
      usage: [],
    })
  })

  it('loop 17.8: a bracket at the very end is not lost', () => {
    expect(replaced('end with [').text).toBe('end with [')
    expect(replaced('end with [[S:1]').text).toBe('end with [[S:1]')
  })

  it('loop 17.10: a token in a fenced block is code', () => {
    expect(replaced('```py\nx=[[S:1]]\n```\nout [[S:1]]')).toMatchObject({ text: `\`\`\`py\nx=[[S:1]]\n\`\`\`\nout ${alpha}`, used: [1] })
    expect(replaced('~~~\n[[S:1]] [[USAGE:2]]\n~~\n')).toMatchObject({ text: '~~~\n[[S:1]] [[USAGE:2]]\n~~\n', used: [], usage: [] })
  })

  it('loop 17.11: a token directly between backticks is code', () => {
    expect(replaced('use `[[S:1]]` here [[S:1]]').text).toBe(`use \`[[S:1]]\` here ${alpha}`)
    expect(replaced('`[[S:2]]').text).toBe(`\`${beta}`)
    expect(replaced('`[[S:2]]`').used).toEqual([])
  })

  it('loop 17.26: full-width brackets, other colons and dashes match, and invisible characters are ignored', () => {
    expect(replaced('a ［［S：1］］ b [[ s : 2 – 1 ]] c [\u200b[S:1]] d')).toMatchObject({
      text: `a ${alpha} b ${alpha} ${beta} c ${alpha} d`,
      used: [1, 2],
    })
    expect(replaced('[[\u200bS:1]] [[\u3000S﹕1\u202e]\u200d] [\uff3bS\n:\n1]]').text).toBe(`${alpha} ${alpha} ${alpha}`)
  })

  it('loop 17.32: other brackets stay as they are', () => {
    const text = 'arr[0] and [link](u) [[wiki]] - [ ] todo'
    expect(replaced(text)).toMatchObject({ text, used: [] })
  })

  it('loop 17.34: nothing is inserted between adjacent citations', () => {
    expect(replaced('[[S:1]][[S:2]]').text).toBe(alpha + beta)
  })

  it('loop 17.35: ranges may be written backwards and have at most 101 ids', () => {
    expect(replaced('x [[S:5-3]] [[S:1-100000]]')).toMatchObject({ text: `x NoLink ${delta} [[S:1-100000]]`, used: [3, 4, 5] })
    expect(replaced('[[S:1-101]]', {}, 20).used).toHaveLength(101)
    expect(replaced('[[S:1-102]]').used).toEqual([])
  })

  it('loop 17.41: a source that is added while the model writes is found', () => {
    const pool = new Map(sources)
    const replacer = createCitationReplacer({ format: 'markdown', sources: () => pool, stripUsage: true })
    const first = replacer.push('see [[S:')
    pool.set(5, { title: 'New', url: 'https://n.example' })
    expect(first + replacer.push('5]].')).toBe('see [New](https://n.example).')
  })

  it('a token has at most 96 characters', () => {
    const token = (length: number) => `[[S:1${' '.repeat(length - 7)}]]`
    expect(replaced(token(96), {}, 30).text).toBe(alpha)
    expect(replaced(token(97), {}, 30).text).toBe(token(97))
  })

  it('without any source every token stays as written and is counted', () => {
    expect(replaced('a [[S:1]]', { sources: () => new Map() })).toMatchObject({ text: 'a [[S:1]]', used: [1], unresolved: [1] })
  })

  it('zero, fractions and huge numbers are no ids', () => {
    expect(replaced('[[S:0]] [[S:,]] [[S:1.5]] [[S:99999999999999999999]] [[S:0,1]]').used).toEqual([1])
  })

  it('a usage tag is removed from the text and its ids are collected', () => {
    expect(replaced('a [[USAGE:1, 3]]b[[usage : none]]c')).toMatchObject({ text: 'a bc', used: [], usage: [1, 3] })
    expect(replaced('a [[USAGE:1]]b', { stripUsage: false })).toMatchObject({ text: 'a [[USAGE:1]]b', usage: [1] })
  })

  it('with replaceCitations off, citations are counted and not held back', () => {
    const replacer = createCitationReplacer({ format: 'markdown', sources: () => sources, stripUsage: true, replaceCitations: false })
    expect([replacer.push('a [['), replacer.push('S'), replacer.push(':1]] [[U'), replacer.push('SAGE:2]]')]).toEqual([
      'a ',
      '[[S',
      ':1]] ',
      '',
    ])
    expect(replacer.flush() + replacer.used + replacer.usage).toBe('12')
  })

  it('titles and addresses can not break out of their link', () => {
    const nasty: SourceMap = new Map([
      [1, { title: 'a "b" \\ [c]\r\nd|', url: 'https://x.example/a b(c)\\' }],
      [2, { title: 'script', url: 'javascript:alert(1)' }],
      [3, { title: 'data', url: 'data:text/html,x' }],
      [4, { url: ' java\nscript:x' }],
      [5, {}],
      [6, { title: ' ', url: 'HTTPS://up.example' }],
    ])
    expect(replaceBatch('[[S:1]] [[S:2]] [[S:3]] [[S:4]] [[S:5]] [[S:6]]', nasty)).toBe(
      "[a 'b' \\\\ \\[c\\]  d\\|](https://x.example/a%20b%28c%29%5C) script data java script:x Source 5 [HTTPS://up.example](HTTPS://up.example)",
    )
  })

  it('titles can not form links, HTML or code, and addresses do not end a table cell', () => {
    const nasty: SourceMap = new Map([
      [1, { title: '<javascript:alert(1)>', url: 'https://x.example/a|b`c' }],
      [2, { url: '<javascript:alert(1)>' }],
      [3, { title: '<a href="javascript:x">it`s</a>' }],
    ])
    expect(replaceBatch('| [[S:1]] | [[S:2]] | [[S:3]] |', nasty)).toBe(
      "| [\\<javascript:alert(1)>](https://x.example/a%7Cb%60c) | \\<javascript:alert(1)> | \\<a href='javascript:x'>it\\`s\\</a> |",
    )
  })
})

describe('html', () => {
  const html = { format: 'html' } as const
  const link = (id: number, url: string) => `<a href="${url}" target="_blank" rel="noopener noreferrer">[S:${id}]</a>`

  it('loop 17.28: tokens become superscripts', () => {
    expect(replaced('<p>a [[S:1,3]] b[[S:9]]</p>', html).text).toBe(
      `<p>a <sup class="cite" data-sids="1,3">${link(1, 'https://a.example/1')} [S:3]</sup> b<sup class="cite" data-sids="9">[S:9]</sup></p>`,
    )
  })

  it('loop 17.29: an existing superscript is replaced as a whole', () => {
    expect(replaced("x<sup class='cite' data-sids='1,2'>[[S:1,2]]</sup>y", html)).toMatchObject({
      text: `x<sup class="cite" data-sids="1,2">${link(1, 'https://a.example/1')} ${link(2, 'https://b.example/2')}</sup>y`,
      used: [1, 2],
    })
  })

  it('a superscript without data-sids is read from its content, and other superscripts stay as they are', () => {
    expect(replaced('<SUP class="note cite">[S:1] and [[S:3]]</sup >', html)).toMatchObject({ used: [1, 3] })
    const text = 'x<sup>2</sup> <sup class="cited">[1]</sup> <sup class="cite">none</sup> <sup'
    expect(replaced(text, html)).toMatchObject({ text, used: [] })
  })

  it('an unclosed superscript becomes text after 600 characters', () => {
    const text = `<sup class="cite">${'x'.repeat(700)}`
    expect(replaced(text, html, 10)).toMatchObject({ text, used: [] })
    const replacer = createCitationReplacer({ format: 'html', sources: () => sources, stripUsage: true })
    expect(replacer.push(text.slice(0, 599))).toBe('')
    expect(replacer.push('x')).toHaveLength(600)
  })

  it('a usage tag in an unclosed superscript is removed, also with replaceCitations off', () => {
    const counting = { ...html, replaceCitations: false }
    expect(replaced('<sup class="cite">a[[USAGE:1]]<sup>b', counting)).toMatchObject({ text: '<sup class="cite">a<sup>b', usage: [1] })
    expect(replaced('<sup [[USAGE:1]]<', counting)).toMatchObject({ text: '<sup <', usage: [1] })
  })

  it('addresses are escaped, and only web addresses are links', () => {
    const nasty: SourceMap = new Map([
      [1, { title: '<b>', url: `https://x.example/?a=1&b="><script>'` }],
      [2, { title: 'script', url: 'javascript:alert(1)' }],
      [3, { url: 'data:text/html,<script>' }],
    ])
    expect(replaceBatch('[[S:1-3]]', nasty, { mode: 'superscript' })).toBe(
      `<sup class="cite" data-sids="1,2,3">${link(1, 'https://x.example/?a=1&amp;b=&quot;&gt;&lt;script&gt;&#39;')} [S:2] [S:3]</sup>`,
    )
  })
})

describe('verbatim', () => {
  it('loop 17.31: the text is output at once and unchanged, and its citations are counted', () => {
    expect(replaced('{"a":"[[S:1]]"}', { format: 'verbatim' })).toMatchObject({ text: '{"a":"[[S:1]]"}', used: [1] })
    const replacer = createCitationReplacer({ format: 'verbatim', sources: () => sources, stripUsage: true })
    expect(replacer.push('{"a":"[[S:')).toBe('{"a":"[[S:')
  })
})

describe('a whole text', () => {
  it('can remove unknown citations, show only the first source, or embed images', () => {
    const images: SourceMap = new Map([...sources, [5, { title: 'Cat', url: 'https://c.example/cat.PNG?x=1' }]])
    expect(replaceBatch('a[[S:9]]b[[S:1,9]]', sources, { keepUnresolved: false })).toBe(`ab${alpha}`)
    expect(replaceBatch('[[S:9,2,1]]', sources, { firstOnly: true })).toBe(beta)
    expect(replaceBatch('[[S:9,2,1]]', sources, { firstOnly: true, mode: 'superscript' })).toContain('data-sids="2"')
    expect(replaceBatch('[[S:9,2]]', sources, { keepUnresolved: false, mode: 'superscript' })).toContain('data-sids="2"')
    expect(replaceBatch('[[S:5,1]]', images, { embedImages: true })).toBe(`![Cat](https://c.example/cat.PNG?x=1) ${alpha}`)
  })
})

describe('any text', () => {
  const replaceStep = (step: Step) =>
    step.usage ? '' : step.ids === undefined ? step.text : replaceBatch(`[[S:${step.ids.join(',')}]]`, sources)
  const expected = (step: Step) => (step.ids?.some((id) => sources.has(id)) || step.usage ? replaceStep(step) : step.text)

  /** The expected output for the steps. If the character before a link would change the meaning of the link, it is escaped. */
  const write = (steps: readonly Step[]) =>
    steps.reduce((text, step) => {
      const added = expected(step)
      if (step.ids === undefined || !added.startsWith('[') || added === step.text) return text + added
      const [, backslashes = '', mark = ''] = /(\\*)(!?)$/.exec(text) ?? []
      const isEscaped = backslashes.length % 2 === 1
      return isEscaped === (mark !== '') ? text + added : `${text.slice(0, text.length - mark.length)}\\${mark}${added}`
    }, '')

  it('gives the same result as the reference scanner, however the text was cut', () => {
    const numRuns = 400
    let withoutHtml = 0
    fc.assert(
      fc.property(hostileText(), cuts, (text, places) => {
        const steps = referenceScan(text)
        const cited = [...new Set(steps.flatMap((step) => (step.usage ? [] : (step.ids ?? []))))].sort((a, b) => a - b)
        const result = run(cutAt(text, places))
        expect(result.text).toBe(write(steps))
        expect(result.used).toEqual(cited)
        if (text.includes('<sup')) return
        withoutHtml++
        expect(extractSids(text)).toEqual(cited)
      }),
      { numRuns },
    )
    expect(withoutHtml).toBeGreaterThan(numRuns / 4)
  })

  it('gives the same HTML and unchanged verbatim text, however the text was cut', () => {
    fc.assert(
      fc.property(hostileText(), cuts, (text, places) => {
        expect(run(cutAt(text, places), { format: 'html' })).toEqual(run([text], { format: 'html' }))
        expect(run(cutAt(text, places), { format: 'verbatim' })).toEqual(run([text], { format: 'verbatim' }))
        const counting = { format: 'html', replaceCitations: false } as const
        expect(run(cutAt(text, places), counting)).toEqual(run([text], counting))
        expect(run([text], { format: 'verbatim' }).text).toBe(text)
      }),
      { numRuns: 400 },
    )
  })

  it('outputs exactly the text that no continuation can change', () => {
    const ways = [
      '',
      'x',
      '`',
      '\n',
      ']',
      ']]',
      '1]]',
      ',1]]',
      ':1]]',
      'S:1]]',
      '[S:1]]',
      'USAGE:1]]',
      'SAGE:1]]',
      'AGE:1]]',
      'GE:1]]',
      'E:1]]',
      '\udc00',
    ]
    fc.assert(
      fc.property(hostileText(8), (text) => {
        const replacer = createCitationReplacer({ format: 'markdown', sources: () => sources, stripUsage: true })
        let output = ''
        for (let at = 1; at <= text.length; at++) {
          output += replacer.push(text[at - 1] as string)
          const readings = ways.map((way) => referenceScan(text.slice(0, at) + way))
          expect(output).toBe(write(agreed(readings)).replace(/!$/, '')) // `!` is returned later: a link may follow
        }
      }),
      { numRuns: 25 },
    )
  })

  it.each([
    ['brackets', '['.repeat(1_000_000)],
    ['unfinished tokens', '[[S:1'.repeat(200_000)],
    ['invisible characters', `[${'\u200b'.repeat(1_000_000)}`],
    ['unfinished superscripts', '<sup class="cite">'.repeat(60_000)],
    ['unfinished superscript tags', '<sup '.repeat(200_000)],
  ])('a megabyte of %s stays unchanged', (_, text) => {
    const replacer = createCitationReplacer({ format: 'html', sources: () => sources, stripUsage: true })
    let out = ''
    for (let at = 0; at < text.length; at += 1000) out += replacer.push(text.slice(at, at + 1000))
    expect(out + replacer.flush() === text).toBe(true)
  })
})

function agreed(readings: readonly (readonly Step[])[]): readonly Step[] {
  const [first = [], ...others] = readings
  const same = (a: Step, b: Step | undefined) => a.at === b?.at && a.text === b.text && a.ids?.length === b.ids?.length
  let length = 0
  while (length < first.length && others.every((other) => same(first[length] as Step, other[length]))) length++
  return first.slice(0, length)
}

it('removes a citation without known sources, even when there is no source at all', () => {
  const replacer = createCitationReplacer({ format: 'markdown', sources: () => new Map(), stripUsage: true, keepUnresolved: false })
  expect(replacer.push('so it is [[S:9]].') + replacer.flush()).toBe('so it is .')
  expect(replacer.unresolved).toEqual([9])
})

describe('a character before a citation', () => {
  const all = (text: string, format: CitationFormat = 'markdown') => {
    const replacer = createCitationReplacer({ format, sources: () => sources, stripUsage: true, keepUnresolved: false })
    return replacer.push(text) + replacer.flush()
  }

  it.each([
    ['Great![[S:1]]', 'Great\\![Alpha](https://a.example/1)'],
    ['Great!![[S:1]]', 'Great!\\![Alpha](https://a.example/1)'],
    ['Great![[S:9]][[S:1]]', 'Great\\![Alpha](https://a.example/1)'],
    ['Great![[USAGE:3]][[S:1]]', 'Great\\![Alpha](https://a.example/1)'],
    ['Great! [[S:1]]', 'Great! [Alpha](https://a.example/1)'],
    ['Great\\![[S:1]]', 'Great\\![Alpha](https://a.example/1)'],
    ['Great\\\\![[S:1]]', 'Great\\\\\\![Alpha](https://a.example/1)'],
    ['back\\[[S:1]]', 'back\\\\[Alpha](https://a.example/1)'],
    ['Great![[S:3]]', 'Great!NoLink'],
    ['Great![[S:9]]', 'Great!'],
    ['![image](https://a.example/i.png) and !', '![image](https://a.example/i.png) and !'],
  ])('never turns a link into an image or plain text: %s', (text, expected) => {
    expect(all(text)).toBe(expected)
    for (let at = 1; at < text.length; at++) {
      const replacer = createCitationReplacer({ format: 'markdown', sources: () => sources, stripUsage: true, keepUnresolved: false })
      const pieces = [replacer.push(text.slice(0, at)), replacer.push(text.slice(at)), replacer.flush()]
      expect(pieces.join('')).toBe(expected)
      expect(replacer.held).toBe(0)
    }
  })

  it('stays as it is in HTML, where a citation is no link in markdown', () => {
    expect(all('<p>Great![[S:3]]</p>', 'html')).toBe('<p>Great!<sup class="cite" data-sids="3">[S:3]</sup></p>')
  })
})
