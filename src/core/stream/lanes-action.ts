import { isObject } from '../json.ts'
import { conflictingKeys, decidingKey, hasCallList, isEmptyCall } from './deciding-keys.ts'
import { createJsonCollector } from './json-collector.ts'
import type { JsonEvent, JsonPath, JsonValue } from './json-event.ts'
import { parseModelJson } from './json-parse.ts'
import { createJsonReader } from './json-reader.ts'
import { createHeldLane, createLazyLane, type EmitDelta, type HeldLane, type Lane, type LaneEnd } from './lane.ts'
import { type ContentParams, decideContent } from './lanes-content.ts'
import { createExecLanes, type ExecLanes, type ExecSettings, execLanguage } from './lanes-exec.ts'
import { planCard } from './lanes-plan.ts'

export interface ActionSettings extends ExecSettings {
  readonly iteration: number
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

/** The lanes of the action channel. They read its JSON while the model writes it, and show the fields that the user may see. */
export interface ActionLanes {
  push(text: string): void
  /** Ends the action. The lane of the content that the tool call writes stays open until `finish`. */
  end(): void
  /**
   * Ends the lane of the content that the tool call writes. The lane ends as aborted if the action is rejected. `refused` is true if the
   * action is rejected because of another part of the response.
   */
  finish(refused: boolean): void
  readonly exec: ExecLanes
  /** The value of the field `action`, trimmed and in lower case. Undefined until its string is complete. */
  readonly action: string | undefined
  /** The lane of the field `final_answer`. It is shown only if no answer channel with visible text follows. */
  readonly answer: HeldLane | undefined
  /** True while the action channel contains only white space. */
  readonly blank: boolean
  /** True when the action ends the turn and calls no tool. Then its answer may be shown. Valid after `end`. */
  readonly allowsAnswer: boolean
}

/** The content that a tool call writes. `params` are the parameters that came before it. */
interface Content {
  readonly field: string
  readonly lane: HeldLane
  readonly params: Readonly<ContentParams>
  ending: LaneEnd | undefined
}

export function createActionLanes(settings: ActionSettings, emit: EmitDelta): ActionLanes {
  const { iteration, replacer, native } = settings
  const exec = createExecLanes(settings, emit)
  const reader = createJsonReader()
  const collector = createJsonCollector()
  let notes: HeldLane | undefined
  let notesText = ''
  let toolId: string | undefined
  const params: ContentParams = { path: undefined, channel: undefined, format: undefined }
  const decided = new Map<string, JsonValue>() // the first value of each key for which `decidingKey` returns a name
  let text = ''
  let actionEnded = false
  let callBegan = false
  let restarted = false // true after a second `tool_call` or `params`
  let refused = false
  let wholeParams: JsonValue | undefined
  let contract: JsonValue | undefined
  let programName: JsonValue | undefined
  let described = false
  let current: HeldLane | undefined
  let content: Content | undefined

  const self = {
    exec,
    action: undefined as string | undefined,
    answer: undefined as HeldLane | undefined,
    blank: true,
    allowsAnswer: false,
    push(piece: string) {
      if (self.blank) self.blank = piece.trim() === ''
      text += piece
      for (const event of reader.push(piece)) read(event)
    },
    end() {
      for (const event of reader.end()) read(event)
      const { to } = reader.span
      if (to !== undefined && text.includes('{', to) && hasSeveralObjects(text)) refuse()
      if (self.action !== 'call_tool' || toolId === undefined) exec.discard()
      notes?.drop()
      content?.lane.drop()
      self.allowsAnswer = !refused && (self.action === 'complete' || self.action === 'exit') && !hasCall()
    },
    finish(refusedByResponse: boolean) {
      const answered = self.answer !== undefined && self.answer.head.trim() !== ''
      endContent(refusedByResponse || answered || !actionEnded ? 'aborted' : (content?.ending ?? 'aborted'))
    },
  }
  return self

  function timelineLane(artifactName: string): Lane {
    return createLazyLane({ marker: 'timeline_text', artifact_name: artifactName, format: 'markdown' }, () => replacer('markdown'), emit)
  }

  /** Stops showing the action, because it will be rejected. */
  function refuse() {
    if (refused) return
    refused = true
    exec.refuse()
    notes?.drop()
    endContent('aborted')
  }

  function endContent(ending: LaneEnd) {
    if (content?.lane.state === 'open') content.lane.end(ending)
    else content?.lane.drop()
    content = undefined
  }

  /** Whether the action also has a tool call. In invalid JSON, the beginning of a tool call is enough. */
  function hasCall(): boolean {
    const parsed = parseModelJson(text)
    if (!parsed.ok) return callBegan
    return isObject(parsed.value) && (!isEmptyCall(parsed.value.tool_call) || hasCallList(parsed.value.tool_calls))
  }

  /** Shows or drops texts that lanes still keep. Called after each complete value of the action. */
  function reconsider() {
    if (refused) return
    const { action } = self
    if (notes?.state === 'held') {
      if (action === 'call_tool') notes.release(timelineLane(`timeline_text.react.decision.${iteration}`))
      else if (action !== undefined) notes.drop()
    }
    if (action === 'call_tool' && toolId !== undefined) {
      const language = execLanguage(toolId)
      if (language === undefined) exec.discard()
      else exec.start(language)
    } else if (action !== undefined && action !== 'call_tool') exec.discard()
    reconsiderContent()
  }

  function reconsiderContent() {
    if (content?.lane.state !== 'held') return
    const { field, lane, ending } = content
    const verdict = decideContent({
      anyOrder: native !== undefined,
      action: self.action,
      toolId,
      field,
      params: content.params,
      channelFollows: params.channel !== undefined,
      actionEnded,
      head: lane.head,
      whole: ending === 'whole',
    })
    if (verdict === 'drop') lane.drop()
    else if (verdict !== 'wait') {
      const internal = toolId === 'react.patch' && settings.isInternalFile?.(String(content.params.path))
      const style = internal ? ({ ...verdict.style, internal } as const) : verdict.style
      lane.release(createLazyLane(style, () => replacer(verdict.citations), emit))
    }
  }

  /** Creates the lane for the string at `path`. Undefined when the string is not shown. A repeated key gets a new lane. */
  function laneAt(path: JsonPath): HeldLane | undefined {
    const field = shownField(path)
    if (field === undefined) return undefined
    if (field === 'content' || field === 'patch') return beginContent(field)
    const lane = createHeldLane()
    if (field === 'final_answer') self.answer = lane
    else {
      notes = lane
      notesText = ''
    }
    reconsider()
    return lane
  }

  /**
   * Creates the lane of the content. Undefined when the content can not be shown, because a second `tool_call` or `params` came before it.
   */
  function beginContent(field: string): HeldLane | undefined {
    if (refused || restarted) return undefined
    endContent('aborted')
    // with any order, parameters that follow the content count, too
    content = { field, lane: createHeldLane(), params: native ? params : { ...params }, ending: undefined }
    reconsiderContent()
    return content.lane
  }

  /** Stores a complete value of the action and updates the lanes. */
  function store(path: JsonPath, value: JsonValue) {
    checkRepeated(path, value)
    if (isAt(path, 'final_answer')) self.answer = undefined
    else if (isAt(path, 'action') && typeof value === 'string') self.action = value.trim().toLowerCase()
    else if (isAt(path, 'tool_call', 'tool_id') && typeof value === 'string') toolId = value.trim()
    else if (isAt(path, 'tool_call', 'params')) wholeParams = value
    else if (path[0] === 'tool_call' && path[1] === 'params') storeParam(String(path[2]), value)
    else return
    reconsider()
  }

  function storeParam(key: string, value: JsonValue) {
    if (key === 'path' || key === 'channel' || key === 'format') params[key] = value
    else if (key === 'contract') contract = value
    else if (key === 'prog_name') programName = value
    if (key !== 'content' || toolId !== 'react.write' || typeof value !== 'object' || value === null) return
    beginContent(key)?.write(JSON.stringify(value, null, 2)) // `react.write` writes the same text
    if (content !== undefined) content.ending = 'whole'
  }

  /**
   * Rejects the action when a key gets a second, different value and `decidingKey` returns a name for this key. Repeated `params` are
   * compared later, when the action is complete.
   */
  function checkRepeated(path: JsonPath, value: JsonValue) {
    const key = decidingKey(path)
    if (key === undefined || key === 'tool_call.params') return
    const first = decided.get(key)
    if (first === undefined) decided.set(key, value)
    else if (JSON.stringify(first) !== JSON.stringify(value)) refuse()
  }

  function noteCall(event: JsonEvent) {
    const { type, path } = event
    callBegan ||= path.length > 1 || type === 'string.start' || type === 'array.start' || (type === 'scalar' && event.value !== null)
    if (type !== 'scalar' && !type.endsWith('.start')) return
    const key = path.length <= 2 ? decidingKey(path) : undefined
    if (key !== 'tool_call' && key !== 'tool_call.params') return
    restarted ||= decided.has(key)
    decided.set(key, '')
  }

  function read(event: JsonEvent) {
    if (event.path[0] === 'tool_call') noteCall(event)
    if (event.type === 'string.start' && event.path.length <= 3) current = laneAt(event.path)
    if (current !== undefined) return readLane(current, event)
    if (native && isAt(event.path, 'tool_call', 'params', 'program')) readProgram(event)
    if (event.path.length === 0) {
      if (event.type === 'object.end' && !event.aborted) finishRoot()
      return
    }
    if (isAt(event.path, 'tool_call')) return // the fields of `tool_call` are stored one by one
    const value = collector.push(event)
    if (value === undefined || event.path.length > 3 || ('aborted' in event && event.aborted)) return
    store(event.path, value)
  }

  /** Shows the program of an exec tool while the model writes it, if the contract is already known. */
  function readProgram(event: JsonEvent) {
    if (event.type === 'string.start' && contract !== undefined) describeProgram({ contract, prog_name: programName ?? null })
    if (event.type === 'string.delta') exec.write(event.text)
    if (event.type === 'string.end') exec.endCode(event.aborted ? 'aborted' : 'whole')
  }

  function describeProgram(given: JsonValue | undefined) {
    if (!described) exec.describe(given, native ? native.notes() : notesText)
    described = true
  }

  function readLane(lane: HeldLane, event: JsonEvent) {
    const isContent = lane === content?.lane
    if (event.type === 'string.delta') {
      lane.write(event.text)
      if (lane === notes) notesText += event.text
    } else if (event.type === 'string.end') {
      const ending = event.aborted ? 'aborted' : 'whole'
      if (content && isContent) content.ending = ending
      else lane.end(ending)
      current = undefined
    }
    if (isContent) reconsiderContent()
  }

  function finishRoot() {
    actionEnded = true
    if (restarted && conflictingKeys(text).length > 0) refuse()
    if (refused || self.action !== 'call_tool') return
    reconsiderContent()
    describeProgram(wholeParams)
    const card = toolId === 'react.plan' ? planCard(wholeParams, native ? native.notes() : notesText) : undefined
    if (card === undefined) return
    const lane = timelineLane(`timeline_text.react.plan.${iteration}`)
    lane.write(card)
    lane.end('whole')
  }
}

function hasSeveralObjects(text: string): boolean {
  const parsed = parseModelJson(text)
  return !parsed.ok && parsed.error.code === 'json.multiple'
}

/** The name of the field at `path`. Undefined when the user may not see the field while the model writes it. */
function shownField(path: JsonPath): 'final_answer' | 'notes' | 'content' | 'patch' | undefined {
  const last = path[path.length - 1]
  if (last === 'final_answer' || last === 'notes') return path.length === 1 ? last : undefined
  return (last === 'content' || last === 'patch') && isAt(path, 'tool_call', 'params', last) ? last : undefined
}

/** Whether the path consists of exactly these keys. Use it only for paths with at most three keys. */
function isAt(path: JsonPath, first: string, second?: string, third?: string): boolean {
  return path[0] === first && path[1] === second && path[2] === third
}
