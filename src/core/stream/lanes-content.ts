import type { CitationFormat } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'
import type { JsonValue } from './json/event.ts'
import {
  type CreateReplacer,
  createHeldLane,
  createLazyLane,
  type EmitDelta,
  type HeldLane,
  headLength,
  type LaneEnd,
  type LaneStyle,
} from './lane.ts'

/** Values of an action that the lanes of its calls need. */
export interface ActionState {
  /** The value of the field `action`, trimmed and in lower case. Undefined until its string is complete. */
  action: string | undefined
  /** True when the whole action has been read. */
  ended: boolean
  /** True when the action will be rejected. In this case nothing more is shown. */
  refused: boolean
  /** True after a second `tool_call`, `tool_calls` or `params`. In this case content that begins later is not shown. */
  restarted: boolean
}

export interface CallLaneSettings {
  readonly replacer: CreateReplacer
  /**
   * Whether an existing file is internal. The lane that shows a patch of such a file is marked as internal, because a patch repeats lines
   * of the file.
   */
  readonly isInternalFile?: (path: string) => boolean
  /**
   * Set for a call in the dialect `native`. Its parameters may have any order, an exec tool has its program as a parameter, and the notes
   * are the text of the response.
   */
  readonly native?: { notes(): string }
}

/** Shows the content that one tool call writes, for example a file. A call has at most one content. */
export interface CallLanes {
  /** The id of the tool, trimmed. Undefined until its string is complete. */
  toolId: string | undefined
  /** All parameters. Undefined until they are complete. */
  params: JsonValue | undefined
  /** The parameters of an exec tool that have been read so far. */
  readonly program: { contract?: JsonValue; prog_name?: JsonValue }
  /** Creates the lane of the content. Undefined when the content can not be shown. A repeated key gets a new lane. */
  begin(field: string): HeldLane | undefined
  /** Stores a complete parameter. */
  storeParam(name: string, value: JsonValue): void
  /** Called when the string of the content has ended. The lane stays open until `finish`. */
  endString(ending: LaneEnd): void
  /** Shows or drops content that the lane still holds back. Called when more of the action is known. */
  reconsider(): void
  /** Drops content that is not shown yet. */
  drop(): void
  /** Ends the lane, as aborted if the action is rejected. */
  finish(rejected: boolean): void
}

/** The content that a call writes. `params` are the parameters that came before it. */
interface Content {
  readonly field: string
  readonly lane: HeldLane
  readonly params: Readonly<ContentParams>
  ending: LaneEnd | undefined
}

export function createCallLanes({ replacer, isInternalFile, native }: CallLaneSettings, emit: EmitDelta, state: ActionState): CallLanes {
  const params: ContentParams = { path: undefined, channel: undefined, format: undefined }
  let content: Content | undefined

  const self: CallLanes = {
    toolId: undefined,
    params: undefined,
    program: {},
    begin(field) {
      if (state.refused || state.restarted) return undefined
      endContent('aborted')
      // In the dialect `native`, parameters that come after the content are also used, so the object is not copied.
      content = { field, lane: createHeldLane(), params: native ? params : { ...params }, ending: undefined }
      self.reconsider()
      return content.lane
    },
    storeParam(name, value) {
      if (name === 'path' || name === 'channel' || name === 'format') params[name] = value
      else if (name === 'contract' || name === 'prog_name') self.program[name] = value
      if (name !== 'content' || self.toolId !== 'react.write' || typeof value !== 'object' || value === null) return
      self.begin(name)?.write(JSON.stringify(value, null, 2)) // `react.write` writes an object to the file as this text
      self.endString('whole')
    },
    endString(ending) {
      if (content) content.ending = ending
    },
    reconsider() {
      if (content?.lane.state !== 'held') return
      const { field, lane, ending } = content
      const verdict = decideContent({
        anyOrder: native !== undefined,
        action: state.action,
        toolId: self.toolId,
        field,
        params: content.params,
        channelFollows: params.channel !== undefined,
        actionEnded: state.ended,
        head: lane.head,
        whole: ending === 'whole',
      })
      if (verdict === 'drop') lane.drop()
      else if (verdict !== 'wait') {
        const internal = self.toolId === 'react.patch' && isInternalFile?.(String(content.params.path))
        const style = internal ? ({ ...verdict.style, internal } as const) : verdict.style
        lane.release(createLazyLane(style, () => replacer(verdict.citations), emit))
      }
    },
    drop: () => content?.lane.drop(),
    finish: (rejected) => endContent(rejected ? 'aborted' : (content?.ending ?? 'aborted')),
  }
  return self

  function endContent(ending: LaneEnd) {
    if (content?.lane.state === 'open') content.lane.end(ending)
    else content?.lane.drop()
    content = undefined
  }
}

/** The parameters of a tool call that decide where and how its content is shown. A parameter is undefined until it has been read. */
interface ContentParams {
  path: JsonValue | undefined
  channel: JsonValue | undefined
  format: JsonValue | undefined
}

/** The current state of a tool call whose content the user may see while the model writes it. */
interface ContentState {
  /** True when `path` and `channel` may come after the content. The content is then held back until they are known. */
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

type ContentVerdict = 'wait' | 'drop' | { readonly style: LaneStyle; readonly citations: CitationFormat }

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
function decideContent(state: ContentState): ContentVerdict {
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
 * The format in which the content of a rendering tool is shown. The first of these values that is known decides: the parameter `format`,
 * the extension of the path, the first character of the content, the tool.
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
