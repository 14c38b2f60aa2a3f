import { expect, it } from 'vitest'
import { redact } from '../../src/adapters/model/redact.ts'
import { firstTextDifference } from '../../src/agent/replay/divergence.ts'
import { parseTitleResponse } from '../../src/agent/turn/title.ts'
import { styleFor } from '../../src/cli/terminal.ts'
import { noticeLine } from '../../src/cli/turn-lines.ts'
import { lintTexts } from '../../src/core/cache/lint.ts'
import { snippet } from '../../src/core/decision/violations.ts'
import { applyPatch } from '../../src/core/patch/apply.ts'
import { parsePatch } from '../../src/core/patch/parse.ts'
import { clip, oneLine } from '../../src/core/render/text.ts'
import { compactionResponse } from '../../src/offline/compaction.ts'
import { cannotAnswer } from '../../src/offline/decide/canned-replies.ts'
import type { Situation } from '../../src/offline/prompt/situation.ts'
import { passagesOf } from '../../src/offline/text/passages.ts'
import { summariseFile } from '../../src/tools/attachments/policy.ts'
import { displayParams } from '../../src/tools/display-params.ts'
import { createCheckoutTool } from '../../src/tools/react/checkout.ts'
import { createSearchFilesTool } from '../../src/tools/react/search-files.ts'
import { toolFixture } from '../support/tool-fixture.ts'

const checkoutTool = createCheckoutTool()
const searchFilesTool = createSearchFilesTool()

const origin = { turnId: 't1', callId: 'k' }

/** Every function that cuts a text before a person or a model reads it. Each result contains the beginning or another part of the text. */
const cuts: { readonly [what: string]: (text: string) => unknown } = {
  'a long parameter': (text) => displayParams('shop.send', { text }, origin),
  'the content of a write': (content) => displayParams('react.write', { path: 'files/a.md', content }, origin),
  'a title': (text) => parseTitleResponse(`<channel:output>${JSON.stringify({ conversation_title: text })}</channel:output>`),
  'the words of a violation': (text) => snippet(text),
  'the words of a violation, with much white space': (text) => snippet(text.replaceAll('😀', '     😀')),
  'the reason why a patch does not fit': (text) => {
    const parsed = parsePatch(`@@ -1,1 +1,1 @@ ${text}\n-${text}\n+new`)
    return parsed.ok ? applyPatch(parsed.hunks, `x${text}`) : parsed
  },
  'a line of a prompt': (text) => [oneLine(text, 101), clip(text, 101)],
  'a finding of the cache lint': (text) => lintTexts([{ where: 'system', text: `${text} 3f2504e0-4f89-41d3-9a0c-0305e82c3301 ${text}` }]),
  'a message of a provider': (text) => redact(text, []),
  'a line of the terminal': (text) => noticeLine({ code: 'x', message: text } as Parameters<typeof noticeLine>[0], styleFor({}, {})),
  'a difference of a replay': (text) => firstTextDifference(`a${text}`, `b${text}`),
  'the summary of an attachment': (text) =>
    summariseFile(
      async () => text,
      { name: 'a', mime: 'text/plain', bytes: new Uint8Array() },
      () => {},
    ),
  'a compaction of the offline model': (text) =>
    compactionResponse({ parts: [{ type: 'text', text: `<conversation>\n[User]: ${text}\n</conversation>` }] }),
  'an answer of the offline model': (text) => cannotAnswer({ documents: [] } as unknown as Situation, text),
  'a passage of a document': (text) => passagesOf(text),
  'an unknown place to search': async (root) => (await toolFixture([])).run(searchFilesTool, { root }),
  'an unknown place to check out': async (path) => (await toolFixture([])).run(checkoutTool, { paths: [path] }),
  'an unknown mode of a checkout': async (mode) => (await toolFixture([])).run(checkoutTool, { mode }),
  'a line that a search has found': async (text) => {
    const fixture = await toolFixture([])
    await fixture.workspace.files.write('t1/files/a.txt', Buffer.from(text))
    return fixture.run(searchFilesTool, { pattern: '^' })
  },
}

it.each(Object.entries(cuts))('no cut splits a character: %s', async (_what, cut) => {
  const emoji = '😀'.repeat(6_000)
  let length = 0
  for (const text of [emoji, `x${emoji}`, `xy${emoji}`]) {
    const shown = textsIn(await cut(text))
    length += shown.join('').length
    for (const each of shown) expect(each.isWellFormed(), each.slice(-40)).toBe(true)
  }
  expect(length).toBeGreaterThan(0)
})

/** All texts in a value, at any depth. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
