import type { CitationFormat } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json-event.ts'
import { headLength, type LaneStyle } from './lane.ts'

/** The parameters that decide where and how content is shown, as far as they were read. */
export interface ContentParams {
  path: JsonValue | undefined
  channel: JsonValue | undefined
  format: JsonValue | undefined
}

/** The known part of a tool call whose content the user may watch. */
export interface ContentState {
  readonly action: string | undefined
  readonly toolId: string | undefined
  /** The parameter that holds the content. */
  readonly field: string
  readonly params: Readonly<ContentParams>
  /** All parameters were read. */
  readonly paramsEnded: boolean
  /** The first characters of the content. */
  readonly head: string
  /** The content is complete; never true for content that was cut off. */
  readonly whole: boolean
}

export type ContentVerdict = 'wait' | 'drop' | { readonly style: LaneStyle; readonly citations: CitationFormat }

/** The parameter with content that may be shown; no other parameter is shown while the model writes it. */
function contentField(toolId: string): 'content' | 'patch' | undefined {
  if (toolId === 'react.write' || toolId.startsWith('rendering_tools.write_')) return 'content'
  return toolId === 'react.patch' ? 'patch' : undefined
}

/** Decides whether to show content: once it is certain that it belongs to a tool call, is not internal and is not a reference. */
export function decideContent(state: ContentState): ContentVerdict {
  if (state.action !== undefined && state.action !== 'call_tool') return 'drop'
  if (state.toolId !== undefined && contentField(state.toolId) !== state.field) return 'drop'
  if (state.head.startsWith('ref:')) return 'drop'
  if (state.action === undefined || state.toolId === undefined) return 'wait'
  if (!state.whole && 'ref:'.startsWith(state.head)) return 'wait'
  const { path } = state.params
  if (path === undefined) return state.paramsEnded ? 'drop' : 'wait'
  if (typeof path !== 'string' || path.trim() === '') return 'drop'
  if (state.toolId.startsWith('rendering_tools.') && state.head.trim() === '' && state.head.length < headLength && !state.whole)
    return 'wait'
  if (state.toolId.startsWith('rendering_tools.')) return show('canvas', path, renderedFormat(state.toolId, path, state))
  const channel = channelOf(state)
  if (channel === 'wait' || channel === 'drop') return channel
  return state.toolId === 'react.patch' ? show('canvas', path, { format: 'markdown' }) : show(channel, path, writtenFormat(path))
}

function channelOf({ params, paramsEnded }: ContentState): 'canvas' | 'timeline_text' | 'wait' | 'drop' {
  const { channel } = params
  if (channel === undefined && !paramsEnded) return 'wait'
  if (channel === undefined || channel === null) return 'canvas'
  const name = String(channel).trim().toLowerCase()
  return name === 'canvas' || name === 'timeline_text' ? name : 'drop'
}

interface Format {
  readonly format: ChannelFormat
  /** How citations are replaced. By default the format decides; in a program, `[[S:1]]` is not a citation. */
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
 * The format of a rendering tool's content: the parameter `format` if it was written before the content, else by extension, first
 * character or tool.
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

/** How citations are replaced in a format. Only markdown, text and HTML have citations. */
export function citationFormat(format: ChannelFormat): CitationFormat {
  return format === 'markdown' || format === 'text' || format === 'html' ? format : 'verbatim'
}
