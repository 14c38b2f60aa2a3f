import { describe, expect, it } from 'vitest'
import { blob, last, render, shownParts, shownTexts, sliceOf, textsOf, written } from '../../../../test/support/prompts/shown-blocks.ts'
import { timelineOf } from '../../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, header, minute, prompt, result } from '../../../testing/blocks.ts'
import { artifactContentBlock, artifactDigestBlock, type Draft, toolCodeBlock, toolResultBlock } from '../../block/index.ts'
import { blocksOf } from '../../timeline/timeline.ts'
import { caps } from '../caps.ts'

describe('tool results', () => {
  it('timeline 11.7: hosting handles in digests and meta are never shown', () => {
    const path = 'fi:t1.files/a.md'
    const hosting = { hosted_uri: 's3://bucket/secret', rn: 'ef:secret', key: 'secret/key', physical_path: '/srv/secret/a.md' }
    const digest: Draft = { ...result('c1', JSON.stringify({ artifact_path: path, ...hosting })), mime: 'application/json', meta: hosting }
    const content = artifactContentBlock(blockOrigin('c1'), {
      path,
      mime: 'text/markdown',
      text: 'hello',
      digest: { artifact_path: path },
      meta: hosting,
    })
    const text = shownTexts([header(), call('c1', 'react.write'), digest, content]).join('\n')
    expect(text).toContain(`- logical_path: ${path}`)
    expect(text).not.toContain('secret')
  })

  it('timeline 11.25: an error given as a string has no code', () => {
    const failed = artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'fi:t1.files/a.md', error: 'boom' })
    expect(last(call('c1', 'react.write'), failed)[0]).toBe(
      '[TOOL RESULT c1].summary react.write\nStatus: error — error boom\nArtifacts:\n- logical_path: fi:t1.files/a.md',
    )
  })

  it('an error may be an object, a status, or a code with a message', () => {
    const status = (report: object) =>
      last({ ...result('c1', JSON.stringify({ artifact_path: 'fi:t1.files/a.md', ...report })), mime: 'application/json' })[0]?.split(
        '\n',
      )[1]
    expect(status({ error: { code: 'empty_file', message: 'is empty' } })).toBe('Status: error — empty_file is empty')
    expect(status({ status: 'error' })).toBe('Status: error — error')
    expect(status({ code: 'c', message: 'm' })).toBe('Status: error — c m')
    expect(status({ error: null, status: 'ok' })).toBe('Status: success')
  })

  it('timeline 11.26: an artifact is one part with its heading and one with its content', () => {
    expect(last(...written('c1', 'fi:t1.files/a.md', '# A'))).toEqual([
      '[TOOL RESULT c1].artifact react.write\nlogical_path: fi:t1.files/a.md',
      '# A',
    ])
  })

  it('consecutive digests of one call share a summary heading; another status is told beside its artifact', () => {
    const digest = (name: string, error?: string) =>
      artifactDigestBlock(blockOrigin('c1'), { artifact_path: `fi:t1.files/${name}`, ...(error && { error }) })
    const { parts } = render([header(), call('c1', 'x.make'), digest('a'), digest('b'), digest('c', 'boom')])
    expect(textsOf(parts).at(-1)).toContain(
      [
        '[TOOL RESULT c1].summary x.make\nStatus: success\nArtifacts:\n- logical_path: fi:t1.files/a\n- logical_path: fi:t1.files/b',
        '- logical_path: fi:t1.files/c | status: error — error boom',
      ].join('\n'),
    )
  })

  it('the digest of a result itself is shown only for an error, whichever tool made it', () => {
    const digest = artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'tc:t1.c1.result' })
    const failed = artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'tc:t1.c1.result', error: 'boom' })
    expect(sliceOf(timelineOf([header(), call('c1', 'shop.do'), digest])).shown).toHaveLength(2)
    expect(last(call('c1', 'shop.do'), failed)[0]).toContain('Status: error — error boom')
  })

  it('a file that was not handed over says so', () => {
    const digest = artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'fi:t1.files/a', kind: 'file', handed_over: false })
    expect(last(call('c1', 'x.make'), digest)[0]).toContain(
      '- logical_path: fi:t1.files/a | kind: file | delivery: kept, not handed over to the user',
    )
  })

  it('digests of react.read, web_search and web_fetch are shown only for errors', () => {
    const digest = artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'tc:t1.c1.result' })
    const failed = artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'tc:t1.c1.result', error: 'boom' })
    for (const tool of ['react.read', 'web_tools.web_search', 'web_tools.web_fetch']) {
      expect(sliceOf(timelineOf([header(), call('c1', tool), digest])).shown).toHaveLength(2)
      expect(last(call('c1', tool), failed)[0]).toContain('Status: error — error boom')
    }
  })

  it('source rows show the selector of their sids, in a list or by URL, and stay JSON without hosting handles', () => {
    const rows = [3, 5, 6].map((sid) => ({ sid, url: `https://e.example/${sid}`, key: 'secret' }))
    const list = last(call('c1'), toolResultBlock(blockOrigin('c1'), { mime: 'application/json', text: JSON.stringify(rows) }))[0] ?? ''
    expect(list).toContain('logical_path: so:sources_pool[3, 5-6]\nmime: application/json\npayload:\n')
    expect(JSON.parse(list.slice(list.indexOf('payload:\n') + 9))).toEqual(rows.map(({ sid, url }) => ({ sid, url })))
    const byUrl = Object.fromEntries(rows.map((row) => [row.url, row]))
    const fetched = last(
      call('c1', 'web_tools.web_fetch'),
      toolResultBlock(blockOrigin('c1'), { mime: 'application/json', text: JSON.stringify(byUrl) }),
    )[0]
    expect(fetched).toContain('logical_path: so:sources_pool[3, 5-6]')
  })

  it('rows that do not fit are left out whole, and the rest is still JSON', () => {
    const rows = Array.from({ length: 100 }, (_, n) => ({ sid: n + 1, url: `https://a.example/${n}`, text: 'w '.repeat(700) }))
    const text = last(call('c1'), toolResultBlock(blockOrigin('c1'), { mime: 'application/json', text: JSON.stringify(rows) }))[0] ?? ''
    const shown = JSON.parse(text.slice(text.indexOf('payload:\n') + 9))
    expect(shown).toEqual(rows.slice(0, shown.length))
    expect(text).toContain(`rows: ${shown.length} of 100 shown`)
  })

  it('objects that have a number but no address are no sources: a `sid` alone may be anything', () => {
    const text = JSON.stringify([{ sid: 5, name: 'Bob' }])
    const shown = last(call('c1'), toolResultBlock(blockOrigin('c1'), { mime: 'application/json', text }))[0]
    expect(shown).toContain('logical_path: tc:t1.c1.result')
    expect(shown).not.toContain('so:')
  })

  it('a result without a call id is shown with a placeholder', () => {
    const orphan: Draft = { type: 'react.tool.result', author: 'tool', turn_id: 't1', ts: minute(1), mime: 'text/plain', text: 'x' }
    expect(last(orphan)[0]?.split('\n')[0]).toBe('[TOOL RESULT tc_????].result')
    expect(last({ ...orphan, path: 'tc:t1.c7.result' })[0]?.split('\n')[0]).toBe('[TOOL RESULT c7].result')
  })

  it('timeline 11.28: a result over the cap is a preview with its shape, and the block keeps everything', () => {
    const text = JSON.stringify({ rows: Array.from({ length: 1_600 }, (_, n) => n + 1_000_000) })
    const timeline = timelineOf([header(), call('c1', 'x.y'), toolResultBlock(blockOrigin('c1'), { mime: 'application/json', text })])
    const shown = textsOf(sliceOf(timeline).shown.at(-1)?.parts ?? [])[0] ?? ''
    expect(shown).toContain(`[TOOL RESULT PREVIEW TRUNCATED]\nfull_text_chars: ${text.length}\nfull_text_bytes: ${text.length}`)
    expect(shown).toContain(
      'visible_preview_chars: 12000\npreview_lines: [1-1]/1\nshape:\ndict[1]\n  rows: list[1600]\n    [0-1599]: int\npreview:\n',
    )
    expect(shown).toContain(`${text.slice(0, 12_000)}\n...[truncated]\nrecovery:\n- react.read(["tc:t1.c1.result"])`)
    expect(blocksOf(timeline).at(-1)?.text).toBe(text)
  })

  it.each(['1', '{"rn":"r"}', '{"sid":1}'])('JSON nested ten thousand deep around %s is shown as text', (core) => {
    const text = `${'['.repeat(10_000)}${core}${']'.repeat(10_000)}`
    const nested = [`[{"sid":1,"deep":${text}}]`, `{"artifact_path":"fi:t1.files/a.md","deep":${text}}`, text]
    for (const given of nested) {
      const shown = last(call('c1', 'x.y'), toolResultBlock(blockOrigin('c1'), { mime: 'application/json', text: given }))[0]
      expect(shown).toContain(given.slice(0, 1_000))
    }
  })

  it('timeline 11.29: results of react.read are not cut again', () => {
    const text = 'word '.repeat(4_000)
    expect(last(call('c1', 'react.read'), result('c1', text))[0]).toContain(text)
    const path = 'fi:t1.files/a.md'
    const read = artifactContentBlock(blockOrigin('c1'), { path, mime: 'text/markdown', text, digest: { artifact_path: path } })
    expect(last(call('c1', 'react.read'), read)[1]).toBe(text)
  })

  it('an artifact and code over the cap say that they are previews', () => {
    const text = 'word '.repeat(4_000)
    expect(last(...written('c1', 'fi:t1.files/a.md', text))[1]).toMatch(/^\[ARTIFACT PREVIEW TRUNCATED\]/)
    expect(last(toolCodeBlock(blockOrigin('c1'), text))[0]).toContain('[CODE PREVIEW TRUNCATED]')
  })

  it('caps can be set', () => {
    const timeline = timelineOf([call('c1', 'x.y'), result('c1', 'word '.repeat(10))])
    const slice = sliceOf(timeline, undefined, { caps: { ...caps, toolResult: 20 } })
    expect(textsOf(slice.shown.at(-1)?.parts ?? [])[0]).toContain('visible_preview_chars: 20')
  })

  it('tools 18.17, timeline 11.35: 3,000 base64 characters in a text become one marker, 2,000 stay', () => {
    const run = 'QUJD'.repeat(750)
    const text = last(call('c1', 'x.y'), result('c1', `before ${run} after`))[0]
    expect(text).toMatch(/before \[base64 removed: 3000 characters, about 2250 bytes; [^\]]*\] after/)
    expect(text).not.toContain('QUJDQUJD')
    const short = 'QUJD'.repeat(500)
    expect(last(call('c1', 'x.y'), result('c1', short))[0]).toContain(short)
    expect(last(prompt(run))[0]).not.toContain('QUJDQUJD')
  })
})

describe('images and documents', () => {
  const made = (callId: string, name: string, mime: string, options: { size?: number; meta?: object; iteration?: number } = {}) => {
    const path = `fi:t1.files/${name}`
    return artifactContentBlock(blockOrigin(callId, 't1', options.iteration ?? 0), {
      path,
      mime,
      blob: blob(options.size ?? 100),
      digest: { artifact_path: path },
      meta: { ...options.meta },
    })
  }

  it('timeline 11.31: a docx is not attached, and a note gives the reason', () => {
    const mime = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
    const texts = last(call('c1', 'react.read'), made('c1', 'a.docx', mime))
    expect(texts).toHaveLength(2)
    expect(texts.join('\n')).toContain(`logical_path: fi:t1.files/a.docx\n[NOT ATTACHED] ${mime}, 100 bytes\nreason: `)
  })

  it('a PDF that a tool made is attached only if it was read or requested', () => {
    expect(last(call('c1', 'rendering_tools.write_pdf'), made('c1', 'a.pdf', 'application/pdf')).join()).toContain('[NOT ATTACHED]')
    expect(last(call('c1', 'react.read'), made('c1', 'a.pdf', 'application/pdf')).at(-1)).toBe('<document>')
    expect(last(call('c1', 'x.y'), made('c1', 'a.pdf', 'application/pdf', { meta: { attach_to_model: true } })).at(-1)).toBe('<document>')
    expect(last(call('c1', 'x.y'), made('c1', 'a.png', 'image/png')).at(-1)).toBe('<image>')
  })

  it('files that are too large, alone or in sum, are not attached', () => {
    expect(last(call('c1', 'x.y'), made('c1', 'a.png', 'image/png', { size: caps.imageBytes + 1 })).join()).toContain('[NOT ATTACHED]')
    const five = Array.from({ length: 6 }, (_, n) => made('c1', `${n}.png`, 'image/png', { size: caps.imageBytes, iteration: n }))
    expect(shownParts([header(), call('c1', 'x.y'), ...five]).filter(({ type }) => type === 'image')).toHaveLength(5)
  })

  it('inline bytes are attached and counted by their length', () => {
    const block: Draft = {
      type: 'user.attachment',
      author: 'user',
      turn_id: 't1',
      ts: minute(0),
      mime: 'image/png',
      path: 'fi:t1.user.attachments/a.png',
      base64: 'QUJDRA==',
    }
    expect(shownParts([header(), block]).at(-1)).toEqual({
      type: 'image',
      media_type: 'image/png',
      blob: { sha256: '', size: 4 },
      base64: 'QUJDRA==',
    })
  })

  it('a round is one text part and at most eight images; the others are replaced by a note', () => {
    const images = Array.from({ length: 10 }, (_, n) => made('c1', `${n}.png`, 'image/png'))
    const { parts } = render([header(), prompt('go'), call('c1', 'x.y'), ...images, result('c1', 'done')])
    expect(parts.map(({ type }) => type)).toEqual(['text', 'text', 'text', ...Array(8).fill('image')])
    const text = textsOf(parts)[2] ?? ''
    expect(text.match(/\[NOT ATTACHED\]/g)).toHaveLength(2)
    expect(text).toContain('shown below as attachment 8 of this round')
    expect(text.endsWith('done\n\n')).toBe(true)
  })
})
