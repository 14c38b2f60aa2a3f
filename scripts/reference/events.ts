import { readFileSync } from 'node:fs'
import { agUiTexts, changeTexts, chatTexts, nativeTexts, statusTexts, uiMessageTexts } from './event-texts.ts'
import { page, table, withTexts } from './markdown.ts'

const source = (file: string): string => readFileSync(`src/${file}`, 'utf8')

const found = (text: string, ...patterns: readonly RegExp[]): readonly string[] =>
  patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name as string))

/** The events of all formats. Their names are read from the types and functions that make them. */
export function eventsPage(): string {
  const events = source('core/event.ts')
  const changes = found(source('core/timeline/change.ts'), /readonly type: '([a-z.]+)'/g)
  const statuses = found(/type TurnStatus =([^\n]+)/.exec(events)?.[1] ?? '', /'([a-z._]+)'/g)
  const chat = found(
    source('server/events/chat-events.ts') + source('server/events/chat.ts'),
    /(?:chatEvent|stepEvent|serviceEvent)\(\s*['`]([^'`]+)['`]/g,
    /\btype: '(chat\.[a-z_.]+)'/g,
  ).map((name) => name.replaceAll(/\$\{(\w+)\}/g, '<$1>'))
  const agUi = found(source('server/events/ag-ui.ts'), /type: '([A-Z_]+)'/g)
  const lanes = found(source('server/events/ui-message.ts'), /type: `\$\{lane\}(-[a-z]+)`/g).flatMap((end) => [
    `text${end}`,
    `reasoning${end}`,
  ])
  const uiMessage = [...found(source('server/events/ui-message.ts'), /'((?:text|reasoning)-end)'/g, /\{ type: '([a-z-]+)'/g), ...lanes]
  const rows = (what: string, names: readonly string[], texts: Readonly<Record<string, string>>) =>
    table([what, 'meaning'], withTexts(what, names, texts))
  return page(
    'Events',
    'A client follows a conversation by its events. `agent.run` and `agent.follow` yield those of the SDK. A server sends them in one of four formats, which `?as=` chooses. [Formats of events](../server.md#formats-of-events) compares the formats.',
    '## The SDK and the format native',
    rows('event', found(events, /readonly type: '([a-z._]+)'/g), nativeTexts),
    '### Status',
    '`status` of the event `status`:',
    rows('status', statuses, statusTexts),
    '### Changes',
    '`change.type` of the event `entry`. [Rows](../format.md#rows) has the fields of each change.',
    rows('change', changes, changeTexts),
    '## The format chat',
    'This is the format without `?as=`. Each event is an envelope with `type`, `timestamp`, `conversation`, `event`, `data` and sometimes `delta`.',
    rows('event', chat, chatTexts),
    '## The format ag-ui',
    rows('event', agUi, agUiTexts),
    '## The format ui-message',
    rows('part', uiMessage, uiMessageTexts),
  )
}
