import { Tokenizer } from 'htmlparser2'
import { expect, it } from 'vitest'
import { readPage } from '../src/adapters/documents/page/read-page.ts'
import { splitFrontMatter } from '../src/adapters/knowledge/front-matter.ts'
import { lineSections, markdownSections } from '../src/adapters/knowledge/sections.ts'
import { redact as redactProviderText } from '../src/adapters/model/redact.ts'
import { parseSkillFile } from '../src/adapters/skills/skill-file.ts'
import { parseYaml } from '../src/adapters/skills/yaml.ts'
import { isAllowedByRobots, parseRobots } from '../src/adapters/web/robots.ts'
import { serverSentEvents } from '../src/client/server-sent-events.ts'
import { noteSegments } from '../src/core/block/notes.ts'
import { createCitationReplacer, replaceBatch } from '../src/core/citations/replace.ts'
import { extractSids } from '../src/core/citations/sids.ts'
import { callsInText } from '../src/core/decision/call-in-text.ts'
import { decisionChannels } from '../src/core/decision/decision.ts'
import { isSameAnswer } from '../src/core/decision/same-answer.ts'
import { snippet } from '../src/core/decision/violations.ts'
import { roughTokens } from '../src/core/estimate/tokens.ts'
import { applyPatch } from '../src/core/patch/apply.ts'
import { hasPreviewNumbers, parsePatch } from '../src/core/patch/parse.ts'
import { canonicalPath, parsePath } from '../src/core/path/logical.ts'
import { normalizeTarget, splitPhysical } from '../src/core/path/physical.ts'
import { unsafeReason } from '../src/core/path/safety.ts'
import { guardHeadings, unguardHeadings } from '../src/core/render/headings.ts'
import { stripHostingHandles } from '../src/core/render/hosting-handles.ts'
import { oneLine, scrubBase64, textPart } from '../src/core/render/text.ts'
import { redact } from '../src/core/secrets.ts'
import { normalizeUrl } from '../src/core/sources/url.ts'
import type { Channel } from '../src/core/stream/channel.ts'
import { createChannelParser } from '../src/core/stream/channel-parser.ts'
import { parseModelJson } from '../src/core/stream/json/parse.ts'
import { createPartialJson } from '../src/core/stream/json/partial.ts'
import { createJsonReader } from '../src/core/stream/json/reader.ts'
import { createNativeTextParser } from '../src/core/stream/native-text.ts'
import { createOfflineModel } from '../src/offline/index.ts'
import { columnsOf, parseTable } from '../src/offline/table/table.ts'
import { passagesOf } from '../src/offline/text/passages.ts'
import type { ModelRequest } from '../src/ports/model.ts'
import { createLog } from '../src/server/log.ts'
import { syntaxProblem } from '../src/tools/artifacts/syntax.ts'
import { checkPdf } from '../src/tools/attachments/pdf.ts'
import { defaultAttachmentLimits } from '../src/tools/attachments/upload.ts'
import { mentionedPaths } from '../src/tools/exec/prepare.ts'
import { renumberText } from '../src/tools/source-numbers.ts'
import { parseMarkdown } from '../ui/src/model/markdown.ts'
import { chunksOf, settleMarkdown } from '../ui/src/model/settled-markdown.ts'
import type { Shape } from './support/regular-expressions/shapes.ts'
import { findSlow, showTiming } from './support/regular-expressions/time.ts'

// Like regular-expressions.test.ts this test looks at the clock, and for the same reason: these functions read text that an attacker may
// choose, and a quadratic one would stop the server.

/** Far more than any of these functions needs for 100,000 characters. A quadratic one needs several seconds. */
const maxMs = 4_000

/** Texts with `¦` between them. Each is repeated. In a text with arrows, the part after the first arrow is repeated. */
const shapesIn = (texts: string): readonly Shape[] =>
  texts.split('¦').map((text) => {
    const [first = '', pump, suffix = ''] = text.split('→')
    return pump === undefined ? { prefix: '', pump: first, suffix } : { prefix: first, pump, suffix }
  })

const bytesOf = (text: string) => new TextEncoder().encode(text)
const oneByOne = (push: (piece: string) => unknown, text: string) => {
  for (let at = 0; at < text.length; at += 3) push(text.slice(at, at + 3))
}
const channels: readonly Channel[] = [
  { name: 'thinking', format: 'text' },
  { name: 'answer', format: 'markdown' },
  { name: 'action', format: 'json' },
]
const sources = new Map([[1, { title: 'A', url: 'https://a.example' }]])

/** Lets the offline model answer a message, which may have an attachment. */
async function answerOf(message: string, document?: string) {
  const path = '[path: fi:turn_1.user.attachments/x.md]'
  const attachment = [`[USER ATTACHMENT] x.md | text/markdown\n${path}`, `[USER ATTACHMENT TEXT]\n${path}\n${document}`]
  const texts = [
    '[TURN turn_1]',
    ...(document === undefined ? [] : attachment),
    `[USER MESSAGE]\n[path: ar:turn_1.user.prompt]\n${message}`,
  ]
  const request: ModelRequest = {
    role: 'decision',
    system: '',
    parts: texts.map(textPart),
    maxTokens: 1_000,
    temperature: 0,
    cacheKey: '',
    read: async () => new Uint8Array(),
  }
  await drain(createOfflineModel().stream(request, new AbortController().signal))
}

const readers: readonly (readonly [name: string, read: (text: string) => unknown, texts: string])[] = [
  ['the sections of a Markdown document', markdownSections, '# a\n¦#¦```\n¦a\n===\n¦###### a #→#→¦\n¦- ¦~~~\n# a\n¦=¦a\n---\n'],
  ['the sections of a text', lineSections, 'a\n¦\n¦a'],
  [
    'the front matter of a document',
    (text) => splitFrontMatter(text, parseYaml),
    '---\n¦---\n→a: \n→¦---\n→\n--→¦---\n→[→\n---\n¦---\n→- →\n---\n',
  ],
  [
    'the file of a skill',
    (text) => parseSkillFile(text, { folder: 'a' }),
    '---\n¦---\n→a: →\n---\nx¦---\n→{→\n---\nx¦---\ndescription: d\n---\n→[[S:1]] →',
  ],
  [
    'the secret filter of error texts',
    redact,
    'eyJs-¦eyJ-.¦sk-a-¦-----BEGIN PRIVATE KEY-----¦-----BEGIN ¦-----BEGIN A PRIVATE KEY-----x¦password=¦token: ¦/home/¦ab://x:¦a.¦bearer ¦a://u:→p→¦ ',
  ],
  ['the secret filter of provider errors', (text) => redactProviderText(text, ['secret']), 'eyJs-¦sk-¦bearer ¦api key: ¦?key=¦//a¦ '],
  [
    'the log',
    (text) =>
      createLog(
        () => {},
        () => '',
      )('info', 'request', { path: text }),
    'eyJs-¦eyJ-.¦sk-¦Bearer ¦AKIA¦/v1/',
  ],
  [
    'the channel parser',
    (text) => parseChannels(text, false),
    '<¦<channel:¦<channel:answer>¦</channel:answer>¦`<channel:answer>¦```\n<channel:answer>¦<channel:answer>`</channel:answer> ¦< ¦<channel:x',
  ],
  [
    'the channel parser, in small pieces',
    (text) => parseChannels(text, true),
    '<¦<channel:¦<channel:answer>¦`<channel:answer>¦```\n</channel:answer>¦<channel:answer>`→ </channel:answer>→¦<channel:x',
  ],
  [
    'the JSON reader',
    (text) => readJson(text, false),
    '{¦[¦{"a":¦{"a":"→"→¦{"a":"→", →¦{"a":"→\\→¦{"a":"→\\u00→¦{"a":1,¦{"→a→¦{"a":→1→¦{"a":"→", "→',
  ],
  [
    'the JSON reader, in small pieces',
    (text) => readJson(text, true),
    '{¦[¦{"a":¦{"a":"→"→¦{"a":"→", →¦{"a":"→\\→¦{"→a→¦{"a":→1→¦{"a":"→" →',
  ],
  [
    'the text of a native response, in small pieces',
    (text) => {
      const parser = createNativeTextParser(decisionChannels)
      oneByOne((piece) => parser.push(piece), text)
      parser.end()
    },
    ' ¦<¦<think>¦<think>→</→¦<think>→ →¦<think></think>¦<channel:followup>¦`<channel:followup>',
  ],
  [
    'calls in the text of a model',
    (text) => callsInText(text, () => true),
    '<tool_call>¦<tool_call>{¦[TOOL_CALLS]¦[TOOL_CALLS][{¦{"name":"a","arguments":{}}¦{"name":"a","arguments":→{→¦\n{→"name" "arguments"→}¦{"name":"arguments"→\n{→}',
  ],
  [
    'partial output, in small pieces',
    (text) => oneByOne(createPartialJson().push, text),
    '{¦[¦{"a":¦{"a":"→x→¦{"a":1,¦{"a":[→1,→¦{"a":[→{"b":"x"},→¦{"a":"→\\→',
  ],
  ['the parser of the model’s JSON', parseModelJson, '{¦[¦```¦```json\n¦{"a":"→", →¦{"a":"→"→¦{"a":[→{},→'],
  ['citations', (text) => replaceBatch(text, sources), '[¦[[S:¦[[S:1¦[[S:1]]¦![[S:1]]¦\\[[S:1]]¦`[[S:1]]¦```\n[[S:1]]¦[[S:1,'],
  [
    'citations in HTML',
    (text) => replaceBatch(text, sources, { mode: 'superscript' }),
    '<¦<sup¦<sup ¦<sup class="cite">¦<sup class="cite" data-sids="1">¦<sup class="cite">[[S:1]]</sup>¦<sup →class=" →¦<sup → class→>',
  ],
  ['citations in small pieces', (text) => citeInPieces(text, 'markdown'), '[¦[[S:1¦[[S:1]]¦![[S:1]]¦\\¦!'],
  ['citations in HTML in small pieces', (text) => citeInPieces(text, 'html'), '<¦<sup ¦<sup class="cite">¦[[S:1]]'],
  ['the numbers of cited sources', extractSids, '[[S:1]]¦[[S:1-100]]¦[[S:¦<sup class="cite">'],
  [
    'the patch parser',
    parsePatch,
    '@@ -1 +1 @@\n¦--- a\n+++ b\n@@¦--- a\n¦diff --git a b\n¦\\\n¦-a\n+b\n¦\n¦--- a\n+++ b\n@@ -1 +1 @@\n→ \n→¦+++ "→./→',
  ],
  ['the patch applier', (text) => patchWith(text), 'a\n¦\n¦a\r\n¦ab\n'],
  ['line numbers in a patch', (text) => hasPreviewNumbers(text, text), '1\t¦ ¦\n¦1\ta\n¦[READ RANGE]\n'],
  [
    'logical paths',
    (text) => [parsePath(text), parsePath(`fi:${text}`), canonicalPath(text)],
    'a¦/¦.¦conv_a.¦fi:turn_1.files/¦[1,¦so:sources_pool[1-¦../¦%2e',
  ],
  [
    'physical paths',
    (text) => [splitPhysical(text), unsafeReason(text), normalizeTarget(text, { currentTurn: 't' })],
    'a¦/¦./¦../¦a/¦a.¦%2e/¦\\¦t/files/',
  ],
  ['addresses', normalizeUrl, 'a¦http://¦/¦%¦a:¦?¦#¦https://a.b/?a=¦https://a.example/→../→'],
  ['texts of one line', (text) => [oneLine(text, 80), snippet(text)], ' ¦\n¦a ¦\\n'],
  [
    'texts with encoded bytes',
    (text) => [scrubBase64(text), stripHostingHandles(text)],
    'A¦data:image/png;base64,¦AAAA ¦"base64":"¦;base64,A¦{"rn":"',
  ],
  [
    'texts with source numbers',
    (text) => renumberText(text, { sources: [], bySid: new Map([[1, 2]]), byKey: new Map() }),
    '[[S:1]]¦"sid":1,¦"sids":[¦"sids": [1,¦"sid" ',
  ],
  ['notes', noteSegments, '[P] ¦[P]¦\n[P]¦ \n¦['],
  ['answers that are compared', (text) => isSameAnswer(text, `${text} `), 'a¦a ¦中¦ ¦. '],
  ['texts with forged headings', (text) => unguardHeadings(guardHeadings(text)), ' ¦\n ¦\\¦\n\\¦\f¦\n[¦\n[USER MESSAGE]¦\u200b¦\r\n'],
  ['estimated tokens', roughTokens, 'a¦中¦ '],
  ['server-sent events', (text) => readEvents(text), 'data: a\n¦\n¦\r¦data:¦:¦a¦id: 1\n\n¦\r\n'],
  ['paths in programs', mentionedPaths, 'files/¦files/a ¦"files/¦/ "files/¦ '],
  ['Python files', (text) => syntaxProblem('a.py', text), '"¦\'¦"""¦"\\¦(¦#¦"a" ¦\'\'\'a\'\'\' '],
  ['HTML files', (text) => syntaxProblem('a.html', text), '<script>¦<!--¦<title></title>¦<!-->¦</script¦<'],
  [
    'web pages',
    (text) => readPage(bytesOf(text), 'https://a.example/', undefined, Tokenizer),
    '<div>¦</div>¦<p>a, ¦<b>¦<ul><li>¦<table><tr><td>¦<blockquote>¦<a href=x>¦<pre>¦<!--¦<script>¦<¦&¦&amp;¦<p a=1 ¦<header>¦<section><p>words, words, words, words',
  ],
  [
    'robots.txt files',
    (text) => isAllowedByRobots(parseRobots(text, 'daybook'), `/${'a'.repeat(4_000)}`),
    'User-agent: *\n¦User-agent: *\n→Disallow: /a*\n→¦User-agent: *\nDisallow: →*a→b¦User-agent: *\nDisallow: /→a*→$¦:¦#',
  ],
  ['JSON files', (text) => syntaxProblem('a.json', text), '[¦{"a":¦"'],
  [
    'PDF files',
    (text) => checkPdf(bytesOf(`%PDF-1.7\n${text}\n%%EOF`), defaultAttachmentLimits),
    'obj ¦/ObjStm ¦/ObjStm¦%%EOF¦/Length 1 ¦/N ¦ ¦/Encrypt ¦\n/Type /ObjStm /N 1 /Length 9',
  ],
  [
    'CSV files',
    (text) => columnsOf(parseTable(text)),
    ',¦"¦"a,¦"a\n¦""¦",¦→"x,→"",¦a,b\n¦a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,→b\n→¦\n¦$ ¦a\n→ →1',
  ],
  ['wide CSV files', (text) => columnsOf(parseTable(`${','.repeat(text.length / 2)}\n${'a\n'.repeat(text.length / 4)}`)), 'a'],
  ['passages of documents', passagesOf, 'a¦A. ¦A. b ¦# ¦#¦- a\n¦| ¦ ¦\n¦`¦<!--¦." ¦。¦Dr. A. ¦1. ¦# →#→x¦a\n¦|-¦-'],
  [
    'the page’s markdown',
    (text) => chunksOf(settleMarkdown(text)).map(parseMarkdown),
    '*¦**¦**a¦*a¦`¦`a¦[¦[](http://¦[a](https://a ¦>¦> ¦> \n¦- ¦- a\n¦1. ¦#¦# ¦|¦|-|\n¦ ¦\n¦```\n¦[a](https://a "¦**a\n',
  ],
  [
    'the offline model, messages',
    (text) => answerOf(text),
    'hi→\t→h¦remember→ →¦remember→ →x¦fass ¦write ¦a ¦what is my ¦summarize ¦ ¦?¦.¦thanks ¦over ¦top ¦a-¦the attached ',
  ],
  [
    'the offline model, documents',
    (text) => answerOf('what does it say about trees?', text),
    'a¦a ¦trees ¦trees. ¦A. ¦Trees grow.\n¦# trees\n¦| trees |\n¦\n¦ ¦[TOOL RESULT ¦\n\n[USER MESSAGE]\n',
  ],
  ['the offline model, summaries of documents', (text) => answerOf('summarize it', text), 'a ¦Trees grow.\n¦A. ¦# trees\n\ntrees\n'],
]

it.each(readers)('reads %s in linear time', { timeout: 300_000 }, async (_, read, texts) => {
  const slow = await findSlow(read, shapesIn(texts), maxMs)
  expect(slow && showTiming(slow)).toBeUndefined()
})

async function drain(items: AsyncIterable<unknown>) {
  for await (const _ of items);
}

function parseChannels(text: string, inPieces: boolean) {
  const parser = createChannelParser(channels)
  if (inPieces) oneByOne(parser.push, text)
  else parser.push(text)
  parser.end()
}

function readJson(text: string, inPieces: boolean) {
  const reader = createJsonReader()
  if (inPieces) oneByOne(reader.push, text)
  else reader.push(text)
  reader.end()
}

function citeInPieces(text: string, format: 'markdown' | 'html') {
  const replacer = createCitationReplacer({ format, sources: () => sources, stripUsage: true })
  oneByOne(replacer.push, text)
  replacer.flush()
}

function patchWith(text: string) {
  const lines = text.split('\n')
  const patch = parsePatch(`--- a\n+++ a\n@@ -${lines.length} +1 @@\n${lines.map((line) => ` ${line}`).join('\n')}\n-missing\n`)
  return patch.ok ? applyPatch(patch.hunks, text) : undefined
}

async function readEvents(text: string) {
  async function* body() {
    for (let at = 0; at < text.length; at += 7) yield bytesOf(text.slice(at, at + 7))
  }
  await drain(serverSentEvents(body()))
}

it('YAML with many different keys', () => {
  const text = Array.from({ length: 10_000 }, (_, index) => `k${index}: 1\n`).join('')
  const started = performance.now()
  expect(parseYaml(text)).toHaveProperty('value')
  expect(performance.now() - started).toBeLessThan(maxMs)
})
