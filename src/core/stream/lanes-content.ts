import type { CitationFormat } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json-event.ts'
import { headLength, type LaneStyle } from './lane.ts'

/** The parameters of a tool call that decide where and how its content is shown. A parameter is undefined until it has been read. */
export interface ContentParams {
  path: JsonValue | undefined
  channel: JsonValue | undefined
  format: JsonValue | undefined
}

/** The current state of a tool call whose content the user may see while the model writes it. */
export interface ContentState {
  /** True when `path` and `channel` may come after the content. The content then waits for them. */
  readonly anyOrder: boolean
  readonly action: string | undefined
  readonly toolId: string | undefined
  /** The name of the parameter with the content. */
  readonly field: string
  /** The parameters that came before the content. */
  readonly params: Readonly<ContentParams>
  /** True when the parameter `channel` comes after the content. Such a call is rejected. */
  readonly channelFollows: boolean
  /** True when the whole action has been read. */
  readonly actionEnded: boolean
  /** The beginning of the content, at most `headLength` characters. */
  readonly head: string
  /** True when the content is complete. Stays false for content that was cut off. */
  readonly whole: boolean
}

export type ContentVerdict = 'wait' | 'drop' | { readonly style: LaneStyle; readonly citations: CitationFormat }

/** The parameter of a tool that is shown while the model writes it. Undefined when the tool has no such parameter. */
function contentField(toolId: string): 'content' | 'patch' | undefined {
  if (toolId === 'react.write' || toolId.startsWith('rendering_tools.write_')) return 'content'
  return toolId === 'react.patch' ? 'patch' : undefined
}

/**
 * Decides whether to show the content that a tool call writes. It is shown as soon as it is certain that it belongs to a tool call, is not
 * internal and is not a reference. The path and the channel must come before the content, because they decide where it is shown. A call in
 * which they come later is rejected.
 */
export function decideContent(state: ContentState): ContentVerdict {
  if (state.action !== undefined && state.action !== 'call_tool') return 'drop'
  if (state.toolId !== undefined && contentField(state.toolId) !== state.field) return 'drop'
  if (state.head.startsWith('ref:')) return 'drop'
  if (state.action === undefined || state.toolId === undefined) return 'wait'
  if (!state.whole && 'ref:'.startsWith(state.head)) return 'wait'
  const { path } = state.params
  if (path === undefined && state.anyOrder && !state.actionEnded) return 'wait'
  if (typeof path !== 'string' || path.trim() === '') return 'drop'
  if (state.toolId.startsWith('rendering_tools.') && state.head.trim() === '' && state.head.length < headLength && !state.whole)
    return 'wait'
  if (state.toolId.startsWith('rendering_tools.')) return show('canvas', path, renderedFormat(state.toolId, path, state))
  const channel = channelOf(state)
  if (channel === 'wait' || channel === 'drop') return channel
  return state.toolId === 'react.patch' ? show('canvas', path, { format: 'markdown' }) : show(channel, path, writtenFormat(path))
}

function channelOf({ params, channelFollows, actionEnded }: ContentState): 'canvas' | 'timeline_text' | 'wait' | 'drop' {
  const { channel } = params
  if (channel === undefined && !actionEnded) return 'wait'
  if (channel === undefined && channelFollows) return 'drop'
  if (channel === undefined || channel === null) return 'canvas'
  const name = String(channel).trim().toLowerCase()
  return name === 'canvas' || name === 'timeline_text' ? name : 'drop'
}

interface Format {
  readonly format: ChannelFormat
  /** How citations are replaced. The default depends on `format`. */
  readonly citations?: CitationFormat
}

function show(marker: string, path: string, { format, citations = citationFormat(format) }: Format): ContentVerdict {
  return { style: { marker, artifact_name: path, format }, citations }
}

const extensions: Readonly<Record<string, ChannelFormat>> = {
  md: 'markdown',
  markdown: 'markdown',
  html: 'html',
  htm: 'html',
  mermaid: 'mermaid',
  mmd: 'mermaid',
  json: 'json',
  yaml: 'yaml',
  yml: 'yaml',
  txt: 'text',
  xml: 'xml',
}

function extensionOf(path: string): string | undefined {
  return /\.([A-Za-z0-9]+)$/.exec(path.trim())?.[1]?.toLowerCase()
}

function writtenFormat(path: string): Format {
  const extension = extensionOf(path)
  if (extension === undefined) return { format: 'markdown' }
  const format = Object.hasOwn(extensions, extension) ? extensions[extension] : undefined
  return format === undefined ? { format: 'text', citations: 'verbatim' } : { format }
}

/**
 * The format in which the content of a rendering tool is shown. The first of these that is known decides: the parameter `format`, the
 * extension of the path, the first character of the content, the tool.
 */
function renderedFormat(toolId: string, path: string, { params, head }: ContentState): Format {
  const declared = params.format
  const extension = extensionOf(path) ?? ''
  if (typeof declared === 'string' && Object.values(extensions).includes(declared as ChannelFormat))
    return { format: declared as ChannelFormat }
  if (Object.hasOwn(extensions, extension)) return { format: extensions[extension] as ChannelFormat }
  if (head.trimStart().startsWith('<') || toolId.endsWith('_pptx')) return { format: 'html' }
  return { format: toolId.endsWith('_png') ? 'mermaid' : 'markdown' }
}

/** How citations are replaced in a text of this format. Only markdown, text and HTML contain citations. */
export function citationFormat(format: ChannelFormat): CitationFormat {
  return format === 'markdown' || format === 'text' || format === 'html' ? format : 'verbatim'
}
