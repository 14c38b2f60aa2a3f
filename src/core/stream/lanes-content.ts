import type { CitationFormat } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json-event.ts'
import { headLength, type LaneStyle } from './lane.ts'

/** The parameters of a tool call that decide where and how its content is shown. Undefined when they have not been read yet. */
export interface ContentParams {
  path: JsonValue | undefined
  channel: JsonValue | undefined
  format: JsonValue | undefined
}

/** What is known so far about a tool call whose content the user may watch. */
export interface ContentState {
  readonly action: string | undefined
  readonly toolId: string | undefined
  /** The name of the parameter that holds the content. */
  readonly field: string
  /** The parameters that were written before the content. */
  readonly params: Readonly<ContentParams>
  /** True when the channel was written after the content. Such a call is rejected. */
  readonly channelFollows: boolean
  /** True when the whole action has been read. */
  readonly actionEnded: boolean
  /** The first characters of the content, at most `headLength`. */
  readonly head: string
  /** True when the content is complete. Never true for content that was cut off. */
  readonly whole: boolean
}

export type ContentVerdict = 'wait' | 'drop' | { readonly style: LaneStyle; readonly citations: CitationFormat }

/** The parameter of a tool that is shown while the model writes it. Undefined when the tool has none. */
function contentField(toolId: string): 'content' | 'patch' | undefined {
  if (toolId === 'react.write' || toolId.startsWith('rendering_tools.write_')) return 'content'
  return toolId === 'react.patch' ? 'patch' : undefined
}

/**
 * Decides whether to show content. It is shown once it certainly belongs to a tool call, is not internal and is not a reference. What was
 * written before the content decides where it is shown: a call whose path or channel comes later is rejected.
 */
export function decideContent(state: ContentState): ContentVerdict {
  if (state.action !== undefined && state.action !== 'call_tool') return 'drop'
  if (state.toolId !== undefined && contentField(state.toolId) !== state.field) return 'drop'
  if (state.head.startsWith('ref:')) return 'drop'
  if (state.action === undefined || state.toolId === undefined) return 'wait'
  if (!state.whole && 'ref:'.startsWith(state.head)) return 'wait'
  const { path } = state.params
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
  /** How citations are replaced. By default the format decides. */
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
 * The format of the content that a rendering tool shows. The parameter `format` decides if it is already known. Otherwise the extension
 * of the path decides, then the first character of the content, then the tool.
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

/** The way to replace citations in a channel of this format. Only markdown, text and HTML have citations. */
export function citationFormat(format: ChannelFormat): CitationFormat {
  return format === 'markdown' || format === 'text' || format === 'html' ? format : 'verbatim'
}
