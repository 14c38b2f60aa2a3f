import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { everySegmentation } from '../../../test/support/generators/text-cuts.ts'
import { run, sources, texts } from '../../../test/support/streaming.ts'
import { createCitationReplacer } from '../../core/citations/replace.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import { createCompositeReader } from '../../core/stream/composite.ts'
import { parseModelJson } from '../../core/stream/json/parse.ts'

describe('channels, citations and repairs, from the stream to the results', () => {
  const alpha = '[Alpha](https://a.example/1)'
  const beta = '[Beta \\[b\\] \\| x](https://b.example/2)'
  const delta = '[https://d.example/p](https://d.example/p)'
  const link = (id: number, url: string) => `<a href="${url}" target="_blank" rel="noopener noreferrer">[S:${id}]</a>`
  const listed =
    '<p>a <sup class="cite" data-sids="1,3">' +
    `${link(1, 'https://a.example/1')} [S:3]</sup> b<sup class="cite" data-sids="9">[S:9]</sup></p>`
  const twoLinks = `${link(1, 'https://a.example/1')} ${link(2, 'https://b.example/2')}`

  it.each([
    [5, 'answer', 'x [[S:1])', 'x [[S:1])', []],
    [
      7,
      'answer',
      'a [[S:1,3]] b [[S:2-4]] c [[S:9]] d [[S:1,9]] e[[S:x]]',
      `a ${alpha} NoLink b ${beta} NoLink ${delta} c [[S:9]] d ${alpha} e[[S:x]]`,
      [1, 2, 3, 4, 9],
    ],
    [8, 'answer', 'end with [', 'end with [', []],
    [10, 'answer', '```py\nx=[[S:1]]\n```\nout [[S:1]]', `\`\`\`py\nx=[[S:1]]\n\`\`\`\nout ${alpha}`, [1]],
    [11, 'answer', 'use `[[S:1]]` here [[S:1]]', `use \`[[S:1]]\` here ${alpha}`, [1]],
    [26, 'answer', 'a ［［S：1］］ b [[ s : 2 – 1 ]] c [\u200b[S:1]] d', `a ${alpha} b ${alpha} ${beta} c ${alpha} d`, [1, 2]],
    [28, 'page', '<p>a [[S:1,3]] b[[S:9]]</p>', listed, [1, 3, 9]],
    [29, 'page', "x<sup class='cite' data-sids='1,2'>[[S:1,2]]</sup>y", `x<sup class="cite" data-sids="1,2">${twoLinks}</sup>y`, [1, 2]],
    [31, 'action', '{"a":"[[S:1]]"}', '{"a":"[[S:1]]"}', [1]],
    [32, 'answer', 'arr[0] and [link](u) [[wiki]] - [ ] todo', 'arr[0] and [link](u) [[wiki]] - [ ] todo', []],
    [34, 'answer', '[[S:1]][[S:2]]', alpha + beta, [1, 2]],
    [35, 'answer', 'x [[S:5-3]] [[S:1-100000]]', `x NoLink ${delta} [[S:1-100000]]`, [3, 4, 5]],
    [37, 'answer', '<channel:bar>lit</channel:bar>', '<channel:bar>lit</channel:bar>', []],
    [38, 'answer', 'if a < b and c <ch', 'if a < b and c <ch', []],
  ])('loop 17.%i in %s: %s', async (_, channel, body, emitted, used) => {
    for (const pieces of everySegmentation(`<channel:${channel}>${body}</channel:${channel}>`, 30)) {
      const { deltas, results } = await run(pieces)
      expect(texts(deltas)).toBe(emitted)
      expect(results.get(channel)).toMatchObject({ raw: body, instances: [body], usedSources: used })
    }
  })

  it('loop 17.41: a citation completed by the second chunk finds a source added after the first', async () => {
    const pool = new Map(sources)
    async function* stream(): AsyncGenerator<ModelEvent> {
      yield { type: 'text.delta', text: '<channel:answer>[[S:' }
      pool.set(5, { title: 'New', url: 'https://n.example' })
      yield { type: 'text.delta', text: '5]]' }
    }
    const { deltas } = await run([], { stream: stream(), sources: () => pool })
    expect(texts(deltas)).toBe('[New](https://n.example)')
  })

  it('loop 17.46: a composite channel reaches the client attribute by attribute', async () => {
    const composite = createCompositeReader({
      channel: 'action',
      marker: 'canvas',
      fields: { a: 'markdown', b: 'text' },
      replacer: (format) => createCitationReplacer({ format, sources: () => sources, stripUsage: true }),
    })
    const { deltas, results } = await run(['<channel:action>{"a":"Hello [[S:1]]","b":"Wor', 'ld","c":"no"}'], { composite })
    const seen = (key: string) => deltas.filter(({ artifact_name }) => artifact_name === key)
    expect(deltas.every(({ marker }) => marker === 'canvas')).toBe(true)
    expect(seen('a').map(({ index, text, completed }) => [index, text, completed])).toEqual([
      [0, `Hello ${alpha}`, false],
      [1, '', true],
    ])
    expect(texts(seen('b'))).toBe('World')
    expect(seen('b').at(-1)?.completed).toBe(true)
    expect(seen('c')).toEqual([])
    expect(results.get('action')?.raw).toBe('{"a":"Hello [[S:1]]","b":"World","c":"no"}')
  })

  it('loop 17.61: a custom parser may repair JSON, and the result lists the repairs', async () => {
    const schema = z.object({ action: z.string(), final_answer: z.string() })
    const { results } = await run(['<channel:action>{"action":"complete","final_answer":"ok",}'], {
      channels: [{ name: 'action', format: 'json', schema }],
      parse: parseModelJson,
    })
    expect(results.get('action')).toMatchObject({ obj: { action: 'complete', final_answer: 'ok' }, repairs: [expect.any(String)] })
  })
})
