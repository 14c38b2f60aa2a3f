import { readFileSync } from 'node:fs'
import { agUiTexts, changeTexts, chatTexts, nativeTexts, statusTexts, uiMessageTexts } from './event-texts.ts'
import { code, page, table, withTexts } from './markdown.ts'

const source = (file: string): string => readFileSync(`src/${file}`, 'utf8')

const found = (text: string, ...patterns: readonly RegExp[]): readonly string[] =>
  patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name as string))

/** The types of the chat format, each with the name in the field `event:` of its server-sent event. */
function chatNames(): ReadonlyMap<string, ReadonlySet<string>> {
  const text = source('server/events/chat-events.ts') + source('server/events/chat.ts')
  const names = new Map<string, Set<string>>()
  const add = (type = '', name = '') => {
    const key = type.replaceAll(/\$\{(\w+)\}/g, '<$1>')
    names.set(key, (names.get(key) ?? new Set()).add(name))
  }
  const type = `\\(\\s*['\`]([^'\`]+)['\`]`
  for (const [, name] of text.matchAll(new RegExp(`stepEvent${type}`, 'g'))) add(name, 'chat_step')
  for (const [, name] of text.matchAll(new RegExp(`serviceEvent${type}`, 'g'))) add(name, 'chat_service')
  const route = `'((?:chat|conv)_[a-z]+)'`
  for (const [, name, sent] of text.matchAll(new RegExp(`chatEvent${type}[\\s\\S]*?${route}`, 'g'))) add(name, sent)
  for (const [, name, sent] of text.matchAll(new RegExp(`\\btype: '(chat\\.[a-z_.]+)'[\\s\\S]*?route: ${route}`, 'g'))) add(name, sent)
  const two = new RegExp(`type: compacting \\? '([^']+)' : '([^']+)'[\\s\\S]*?route: compacting \\? ${route} : ${route}`)
  const [, first, second, firstSent, secondSent] = two.exec(text) ?? []
  add(first, firstSent)
  add(second, secondSent)
  return names
}

/** The events of all formats. Their names are read from the types and functions that make them. */
export function eventsPage(): string {
  const events = source('core/event.ts')
  const changes = found(source('core/timeline/change.ts'), /readonly type: '([a-z.]+)'/g)
  const statuses = found(/type TurnStatus =([^\n]+)/.exec(events)?.[1] ?? '', /'([a-z._]+)'/g)
  const chat = chatNames()
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
    'A client follows a conversation by its events. `agent.run` and `agent.follow` yield the events of the SDK. A server sends events in one of four formats, which `?as=` chooses. [Formats of events](../server.md#formats-of-events) compares the formats.',
    '## The SDK and the format native',
    rows('event', found(events, /readonly type: '([a-z._]+)'/g), nativeTexts),
    '### Status',
    '`status` of the event `status`:',
    rows('status', statuses, statusTexts),
    '### Changes',
    '`change.type` of the event `entry`. [Rows](../format.md#rows) has the fields of each change.',
    rows('change', changes, changeTexts),
    '## The format chat',
    "This is the format without `?as=`. The data of each event is an envelope with `type`, `route`, `timestamp`, `conversation`, `event`, `data` and sometimes `delta`. The field `event:` of the server-sent event has the same name as `route`, so a listener of `EventSource` needs this name: `source.addEventListener('chat_start', …)`. Several types share a name, and `type` in the data says which event it is. The events `ready`, `resync` and `server_shutdown` have no envelope and mean the same as in the format `native`.",
    table(
      ['`type` in the data', '`event:`', 'meaning'],
      withTexts('event', chat.keys(), chatTexts).map(([name = '', meaning = '']) => [
        name,
        [...(chat.get(name.slice(1, -1)) ?? [])].map(code).join(', '),
        meaning,
      ]),
    ),
    '## The format ag-ui',
    rows('event', agUi, agUiTexts),
    '## The format ui-message',
    rows('part', uiMessage, uiMessageTexts),
  )
}
