import type { CitationFormat } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json-event.ts'
import { headLength, type LaneStyle } from './lane.ts'

/** The parameters that tell where content is shown and how, as far as they have been read. */
export interface ContentParams {
  path: JsonValue | undefined
  channel: JsonValue | undefined
  format: JsonValue | undefined
}

/** What is known so far of a tool call whose content a person may watch being written. */
export interface ContentState {
  readonly action: string | undefined
  readonly toolId: string | undefined
  /** The parameter that holds the content. */
  readonly field: string
  readonly params: Readonly<ContentParams>
  /** No more parameters will come. */
  readonly paramsEnded: boolean
  /** The content's first characters, and whether more will come. Of content cut short it is never known. */
  readonly head: string
  readonly whole: boolean
}

export type ContentVerdict = 'wait' | 'drop' | { readonly style: LaneStyle; readonly citations: CitationFormat }

/** Parameters that may hold content, by tool. Anything else a tool is given is never shown while it is written. */
export function contentField(toolId: string): 'content' | 'patch' | undefined {
  if (toolId === 'react.write' || toolId.startsWith('rendering_tools.write_')) return 'content'
  return toolId === 'react.patch' ? 'patch' : undefined
}

/** Content is shown only when nothing can speak against it any more: no other action, no internal file, no reference. */
export function decideContent(seen: ContentState): ContentVerdict {
  if (seen.action !== undefined && seen.action !== 'call_tool') return 'drop'
  if (seen.toolId !== undefined && contentField(seen.toolId) !== seen.field) return 'drop'
  if (seen.head.startsWith('ref:')) return 'drop'
  if (seen.action === undefined || seen.toolId === undefined) return 'wait'
  if (!seen.whole && 'ref:'.startsWith(seen.head)) return 'wait'
  const { path } = seen.params
  if (path === undefined) return seen.paramsEnded ? 'drop' : 'wait'
  if (typeof path !== 'string' || path.trim() === '') return 'drop'
  if (seen.toolId.startsWith('rendering_tools.') && seen.head.trim() === '' && seen.head.length < headLength && !seen.whole) return 'wait'
  if (seen.toolId.startsWith('rendering_tools.')) return show('canvas', path, renderedFormat(seen.toolId, path, seen))
  const channel = channelOf(seen)
  if (channel === 'wait' || channel === 'drop') return channel
  return seen.toolId === 'react.patch' ? show('canvas', path, { format: 'markdown' }) : show(channel, path, writtenFormat(path))
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
  /** When not those of the format: `[[S:1]]` in a program is the program's. */
  readonly citations?: CitationFormat
}

function show(marker: string, path: string, { format, citations = citationFormat(format) }: Format): ContentVerdict {
  return { style: { marker, artifactName: path, format }, citations }
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

/** `format` comes after `content` in these tools' order, too late to be waited for: then the content's first character tells. */
function renderedFormat(toolId: string, path: string, { params, head }: ContentState): Format {
  const declared = params.format
  const extension = extensionOf(path) ?? ''
  if (typeof declared === 'string' && Object.values(extensions).includes(declared as ChannelFormat))
    return { format: declared as ChannelFormat }
  if (Object.hasOwn(extensions, extension)) return { format: extensions[extension] as ChannelFormat }
  if (head.trimStart().startsWith('<') || toolId.endsWith('_pptx')) return { format: 'html' }
  return { format: toolId.endsWith('_png') ? 'mermaid' : 'markdown' }
}

/** People's formats carry citations; programs' formats are left alone. */
export function citationFormat(format: ChannelFormat): CitationFormat {
  return format === 'markdown' || format === 'text' || format === 'html' ? format : 'verbatim'
}
