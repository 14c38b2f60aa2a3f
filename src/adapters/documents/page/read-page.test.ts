import fc from 'fast-check'
import { Tokenizer } from 'htmlparser2'
import { describe, expect, it } from 'vitest'
import { readPage } from './read-page.ts'

const address = 'https://news.example/2026/story'
const read = (html: string | Uint8Array, charset?: string) =>
  readPage(typeof html === 'string' ? Buffer.from(html) : html, address, charset, Tokenizer)
const words = (count: number) => 'These are plain words of the story, one after the other. '.repeat(count).trim()

describe('the text of a page', () => {
  it('is the article, without menus, advertisements, related stories and scripts', () => {
    const { markdown } = read(`<!doctype html><html><head><style>p { color: red }</style></head><body>
      <header class="site-header"><a href="/">The News</a></header>
      <nav><ul><li><a href="/a">World</a></li><li><a href="/b">Sport</a></li></ul></nav>
      <div class="cookie-consent">We use cookies.</div>
      <div id="wrap"><div class="story-content"><h1>A title</h1><p>${words(6)}</p><p>${words(4)}</p></div>
      <div class="sidebar"><p>${words(1)} Buy now!</p></div><div class="related-links"><a href="/c">Another story</a></div></div>
      <div hidden>secret</div><div style="display: none">secret</div><p aria-hidden="true">secret</p>
      <script>var secret = 1 < 2</script><noscript>secret</noscript><footer>Imprint</footer></body></html>`)
    expect(markdown).toBe(`# A title\n\n${words(6)}\n\n${words(4)}`)
  })

  it('is the element <article> or <main>, if there is one with most of the text', () => {
    const { markdown } = read(`<div class="content"><p>${words(3)}</p></div><article><h2>Inside</h2><p>${words(8)}</p></article>`)
    expect(markdown).toBe(`## Inside\n\n${words(8)}`)
  })

  it('is everything but menus, if no part stands out', () => {
    expect(read('<nav>Menu</nav><div class="promo"><h1>Hours</h1><p>Open from 9 to 5.</p></div>').markdown).toBe(
      '# Hours\n\nOpen from 9 to 5.',
    )
    expect(read('just words').markdown).toBe('just words')
    expect(read('').markdown).toBe('')
  })

  it('is not lost in a wrapper whose class names a menu or a sidebar', () => {
    const { markdown } = read(
      `<div class="layout with-sidebar"><div><p>${words(20)}</p><p>${words(9)}</p></div><div class="sidebar"><p>Links</p></div></div>
      <div><p>${words(6)}</p></div>`,
    )
    expect(markdown).toContain(words(20))
    expect(markdown).not.toContain('Links')
  })

  it('keeps the siblings of the best part that belong to the same text', () => {
    const { markdown } = read(`<div><section><p>${words(8)}</p></section><section><p>${words(7)}</p></section><p>${words(2)}</p></div>`)
    expect(markdown).toBe([words(8), words(7), words(2)].join('\n\n'))
  })
})

describe('Markdown', () => {
  it.each([
    ['<h3>A <b>b</b></h3>', '### A **b**'],
    ['<p>a  b\n\n c<br>d</p>', 'a b c\nd'],
    ['<p>a</p>b<p>c', 'a\n\nb\n\nc'],
    [
      '<p><a href="/x?y=1#z">link</a> <a href="#top">here</a> <a href="javascript:alert(1)">no</a> <a href="mailto:a@b.c">mail</a></p>',
      '[link](https://news.example/x?y=1#z) here no mail',
    ],
    ['<p><img src="a.png" alt="A cat"> <img src="b.png" alt=""> <img alt="lost"></p>', '![A cat](https://news.example/2026/a.png)'],
    ['<a href="/x"><h2>Heading in a link</h2><p>Text</p></a>', '## Heading in a link\n\nText'],
    ['<ul><li>one<li>two<ul><li>inner</ul><li><p>three</p><p>more</p></ul>', '- one\n- two\n  - inner\n- three\n  more'],
    ['<ol><li>one</li><li>two</li></ol>', '1. one\n2. two'],
    ['<blockquote><p>wise</p><p>words</p></blockquote>', '> wise\n>\n> words'],
    ['<pre><code>if (a &lt; b) {\n    c()\n}\n</code></pre>', '```\nif (a < b) {\n    c()\n}\n```'],
    ['<pre>```\nfenced</pre>', '````\n```\nfenced\n````'],
    ['<p>call <code>a  b</code> and <kbd>`</kbd></p>', 'call `a b` and `` ` ``'],
    ['<p><em>a</em> <i> </i><del>b</del> <strong></strong>c</p>', '*a* ~~b~~ c'],
    [
      '<table><thead><tr><th>n</th><th>v|w</th></tr></thead><tr><td>1</td><td><b>2</b></td></tr></table>',
      '| n | v\\|w |\n| --- | --- |\n| 1 | **2** |',
    ],
    ['<table><tr><td><p>only</p><p>layout</p></td></tr></table>', 'only\n\nlayout'],
    ['<dl><dt>term</dt><dd>meaning</dd></dl>', '**term**\n\nmeaning'],
    ['a<hr>b', 'a\n\n---\n\nb'],
    ['<p>1 &lt; 2 &amp; 3 &gt; 2&nbsp;&copy; &#x41;</p>', '1 < 2 & 3 > 2 © A'],
    ['<base href="https://other.example/dir/"><p><a href="x">y</a></p>', '[y](https://other.example/dir/x)'],
  ])('%s', (html, expected) => expect(read(html).markdown).toBe(expected))
})

describe('facts', () => {
  it('the title is the one for other sites, then <title>', () => {
    expect(read('<title> A\n story | The News </title>').title).toBe('A story | The News')
    expect(read('<title>A | The News</title><meta property="og:title" content="A"><body><svg><title>icon</title></svg>').title).toBe('A')
  })

  it.each([
    [
      '<script type="application/ld+json">{"@graph":[{"@type":"NewsArticle","datePublished":"2026-03-05T10:00:00+01:00","dateModified":"2026-03-06"}]}</script>',
      {
        published: { iso: '2026-03-05T09:00:00Z', method: 'json-ld', confidence: 0.95 },
        modified: { iso: '2026-03-06T00:00:00Z', method: 'json-ld', confidence: 0.95 },
      },
    ],
    [
      '<meta property="article:published_time" content="2026-03-05T10:00:00Z"><time datetime="2020-01-01">',
      { published: { iso: '2026-03-05T10:00:00Z', method: 'meta', confidence: 0.9 } },
    ],
    [
      '<meta name="DC.date" content="5 March 2026 00:00 UTC">',
      { published: { iso: '2026-03-05T00:00:00Z', method: 'meta', confidence: 0.9 } },
    ],
    [
      '<time datetime="2026-03-05T10:00:00.5Z">',
      { published: { iso: '2026-03-05T10:00:00.500Z', method: 'time-element', confidence: 0.5 } },
    ],
    ['<script type="application/ld+json">{ broken', {}],
    ['<meta name="date" content="yesterday"><meta name="pubdate" content="9999-01-01">', {}],
  ])('dates of %.70s', (html, dates) => {
    const { published, modified } = read(html)
    expect({ ...(published && { published }), ...(modified && { modified }) }).toEqual(dates)
  })

  it('a page is recognised whose text is only for subscribers', () => {
    const ld = (value: string) => `<script type="application/ld+json">{"isAccessibleForFree":${value}}</script>`
    expect(
      [ld('false'), ld('"False"'), ld('true'), '', '<meta property="article:content_tier" content="locked">'].map(
        (html) => read(html).paywalled,
      ),
    ).toEqual([true, true, false, false, true])
  })

  it('the icon has a complete address', () => {
    expect(read('<link rel="shortcut icon" href="/f.ico">').favicon).toBe('https://news.example/f.ico')
    expect(read('<link rel="stylesheet" href="/f.css">').favicon).toBeUndefined()
  })
})

describe('encodings', () => {
  it.each([
    ['utf-8', Buffer.from('<p>Grüße</p>'), undefined],
    ['a byte order mark', Buffer.from('\ufeff<p>Grüße</p>', 'utf16le'), 'utf-8'],
    ['the HTTP header', Buffer.from('<p>Grüße</p>', 'latin1'), 'iso-8859-1'],
    ['<meta charset>', Buffer.from('<meta charset="windows-1252"><p>Grüße</p>', 'latin1'), undefined],
    [
      '<meta http-equiv>',
      Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=latin1"><p>Grüße</p>', 'latin1'),
      undefined,
    ],
    ['an unknown name', Buffer.from('<p>Grüße</p>'), 'klingon'],
  ])('%s', (_, bytes, charset) => expect(read(bytes, charset).markdown).toBe('Grüße'))
})

describe('hostile pages', () => {
  const many = 200_000
  it.each([
    ['elements in elements', '<div>'.repeat(many)],
    ['inline elements in inline elements', `${'<b>'.repeat(many)}x`],
    ['lists in lists', '<ul><li>'.repeat(many / 2)],
    ['tables in tables', '<table><tr><td>'.repeat(many / 4)],
    ['quotes in quotes', `${'<blockquote>'.repeat(many / 4)}x`],
    ['elements that are closed too often', '</div>'.repeat(many)],
    ['a tag without an end', `<a href="${'x'.repeat(many)}`],
    ['many attributes', `<p ${'a=1 '.repeat(many)}>x`],
    ['JSON in JSON', `<script type="application/ld+json">${'['.repeat(many)}</script>`],
    ['a long title', `<title>${'x'.repeat(many)}`],
    ['many rows', `<table>${'<tr><td>a<td>b'.repeat(many / 10)}</table>`],
    ['a class that looks like much', `<div class="${'content comment '.repeat(many / 20)}">x</div>`],
    ['spaces', `<p>${' '.repeat(many)}x${'\n '.repeat(many)}y</p>`],
    ['hidden elements', '<i hidden>'.repeat(many)],
  ])('are read: %s', (_, html) => expect(read(html).markdown.length).toBeLessThanOrEqual(400_000))

  it('any HTML can be read, and gives a text within the limit', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<div class=content>',
      '</div>',
      '<table>',
      '<tr>',
      '<td>',
      '<ul>',
      '<li>',
      '<a href=x>',
      '</a>',
      '<pre>',
      '<script>',
      '</script>',
      '<!--',
      '-->',
      '<![CDATA[',
      '&amp;',
      '&#0;',
      '\u0000',
      'words, ',
      '<h1>',
      '<template>',
      '<svg>',
      '</svg>',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 40 }), (pieces) => {
        const { markdown, title } = read(pieces.join(''))
        expect(typeof markdown + typeof title).toBe('stringstring')
      }),
      { numRuns: 300 },
    )
  })
})
