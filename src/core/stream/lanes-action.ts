import { isObject } from '../json.ts'
import { conflictingKeys, decidingKey, hasAcceptedCalls, hasCallList, isEmptyCall, maxCalls } from './deciding-keys.ts'
import { createJsonCollector } from './json/collector.ts'
import type { JsonEvent, JsonPath, JsonValue } from './json/event.ts'
import { parseModelJson } from './json/parse.ts'
import { createJsonReader } from './json/reader.ts'
import { createHeldLane, createLazyLane, type EmitDelta, type HeldLane, type Lane } from './lane.ts'
import { type ActionState, type CallLaneSettings, type CallLanes, createCallLanes } from './lanes-content.ts'
import { createExecLanes, type ExecLanes, type ExecSettings, execLanguage } from './lanes-exec.ts'
import { planCard } from './lanes-plan.ts'

export interface ActionSettings extends ExecSettings, CallLaneSettings {
  readonly iteration: number
}

/** The lanes of the action channel. They read its JSON while the model writes it, and show the fields that the user may see. */
export interface ActionLanes {
  push(text: string): void
  /** Ends the action. The lanes of the content that the tool calls write stay open until `finish`. */
  end(): void
  /**
   * Ends the lanes of the content that the tool calls write. They end as aborted if the action is rejected. `refused` is true if the action
   * is rejected because of another part of the response.
   */
  finish(refused: boolean): void
  readonly exec: ExecLanes
  /** The value of the field `action`, trimmed and in lower case. Undefined until its string is complete. */
  readonly action: string | undefined
  /** The lane of the field `final_answer`. It is shown only if no answer channel with visible text follows. */
  readonly answer: HeldLane | undefined
  /** True while the action channel contains only white space. */
  readonly blank: boolean
  /** True when the action ends the turn and calls no tool. Only then may its answer be shown. The value is valid after `end`. */
  readonly allowsAnswer: boolean
}

export function createActionLanes(settings: ActionSettings, emit: EmitDelta): ActionLanes {
  const { iteration, replacer, native } = settings
  const exec = createExecLanes(settings, emit)
  const reader = createJsonReader()
  const collector = createJsonCollector()
  const state: ActionState = { action: undefined, ended: false, refused: false, restarted: false }
  let notes: HeldLane | undefined
  let notesText = ''
  const decided = new Map<string, JsonValue>() // the first value of each key for which `decidingKey` returns a name
  let text = ''
  let callBegan = false
  let described = false
  let call: CallLanes | undefined // the call in `tool_call`
  const listed: CallLanes[] = [] // the calls in `tool_calls`
  const calls: CallLanes[] = [] // `call` and `listed` together
  let current: HeldLane | undefined
  let currentCall: CallLanes | undefined // the call to which `current` belongs

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
      if (self.action !== 'call_tool' || onlyCall()?.toolId === undefined) exec.discard()
      notes?.drop()
      for (const each of calls) each.drop()
      self.allowsAnswer = !state.refused && (self.action === 'complete' || self.action === 'exit') && !hasCall()
    },
    finish(refusedByResponse: boolean) {
      const answered = self.answer !== undefined && self.answer.head.trim() !== ''
      for (const each of calls) each.finish(refusedByResponse || answered || !state.ended)
    },
  }
  return self

  function timelineLane(artifactName: string): Lane {
    return createLazyLane({ marker: 'timeline_text', artifact_name: artifactName, format: 'markdown' }, () => replacer('markdown'), emit)
  }

  /** The call of the action, if it has only one. */
  function onlyCall(): CallLanes | undefined {
    return call?.toolId !== undefined || listed.length !== 1 ? call : listed[0]
  }

  /** The call that contains the value at `path`. Undefined for paths outside of calls, and for calls after the first `maxCalls`. */
  function callAt(path: JsonPath): CallLanes | undefined {
    if (path[0] === 'tool_call') {
      call ??= addCall()
      return call
    }
    const index = path[0] === 'tool_calls' ? path[1] : undefined
    if (typeof index !== 'number' || index >= maxCalls) return undefined
    while (listed.length <= index) listed.push(addCall())
    return listed[index]
  }

  function addCall(): CallLanes {
    const added = createCallLanes(settings, emit, state)
    calls.push(added)
    return added
  }

  /** Stops showing the action, because it will be rejected. */
  function refuse() {
    if (state.refused) return
    state.refused = true
    exec.refuse()
    notes?.drop()
    for (const each of calls) each.finish(true)
  }

  /** Whether the action also has a tool call. If the JSON is invalid, the beginning of a tool call is enough for `true`. */
  function hasCall(): boolean {
    const parsed = parseModelJson(text)
    if (!parsed.ok) return callBegan
    return isObject(parsed.value) && (!isEmptyCall(parsed.value.tool_call) || hasCallList(parsed.value.tool_calls))
  }

  /** Shows or drops texts that lanes still hold back. Called after each complete value of the action. */
  function reconsider() {
    if (state.refused) return
    const { action } = self
    if (notes?.state === 'held') {
      if (action === 'call_tool') notes.release(timelineLane(`timeline_text.react.decision.${iteration}`))
      else if (action !== undefined) notes.drop()
    }
    if (action === 'call_tool' && call?.toolId !== undefined) startExec(call.toolId)
    else if (action !== undefined && action !== 'call_tool') exec.discard()
    for (const each of calls) each.reconsider()
  }

  function startExec(toolId: string) {
    const language = execLanguage(toolId)
    if (language === undefined) exec.discard()
    else exec.start(language)
  }

  /** Creates the lane for the string at `path`. Undefined when the string is not shown. A repeated key gets a new lane. */
  function laneAt(path: JsonPath): HeldLane | undefined {
    const field = shownField(path)
    if (field === undefined) return undefined
    if (field === 'content' || field === 'patch') {
      const owner = callAt(path)
      const lane = owner?.begin(field)
      currentCall = lane && owner
      return lane
    }
    const lane = createHeldLane()
    if (field === 'final_answer') self.answer = lane
    else {
      notes = lane
      notesText = ''
    }
    reconsider()
    return lane
  }

  /** Stores a complete value of the action and updates the lanes. */
  function store(path: JsonPath, value: JsonValue) {
    checkRepeated(path, value)
    if (isAt(path, 'final_answer')) self.answer = undefined
    else if (isAt(path, 'action') && typeof value === 'string') self.action = state.action = value.trim().toLowerCase()
    else if (!storeInCall(path, value)) return
    reconsider()
  }

  /** Stores a value of a tool call. Returns false when the value is not needed. */
  function storeInCall(path: JsonPath, value: JsonValue): boolean {
    const target = callAt(path)
    const depth = callDepth(path)
    if (!target) return false
    if (path[depth] === 'tool_id' && path.length === depth + 1 && typeof value === 'string') target.toolId = value.trim()
    else if (path[depth] !== 'params') return false
    else if (path.length === depth + 1) target.params = value
    else target.storeParam(String(path[depth + 1]), value)
    return true
  }

  /**
   * Rejects the action when a key gets a second, different value and `decidingKey` returns a name for this key. Repeated `params` are
   * compared later, when the action is complete.
   */
  function checkRepeated(path: JsonPath, value: JsonValue) {
    const key = decidingKey(path)
    if (key === undefined || isAt(path, 'tool_call', 'params') || key.endsWith('].params')) return
    const first = decided.get(key)
    if (first === undefined) decided.set(key, value)
    else if (JSON.stringify(first) !== JSON.stringify(value)) refuse()
  }

  function noteCall(event: JsonEvent) {
    const { type, path } = event
    const isList = path[0] === 'tool_calls'
    callBegan ||=
      path.length > 1 || type === 'string.start' || (type === 'array.start' && !isList) || (type === 'scalar' && event.value !== null)
    if (type !== 'scalar' && !type.endsWith('.start')) return
    const key = path.length === 1 || path.length === callDepth(path) + 1 ? decidingKey(path) : undefined
    if (key === undefined || key.endsWith('tool_id')) return
    state.restarted ||= decided.has(key)
    decided.set(key, '')
  }

  function read(event: JsonEvent) {
    const { type, path } = event
    const depth = callDepth(path)
    if (depth > 0) noteCall(event)
    if (type === 'string.start' && path.length <= depth + 2) current = laneAt(path)
    if (current !== undefined) return readLane(current, event)
    if (native && isAt(path, 'tool_call', 'params', 'program')) readProgram(event)
    if (path.length === 0) {
      if (type === 'object.end' && !event.aborted) finishRoot()
      return
    }
    if (depth > 0 && path.length <= depth) return // a call as a whole is not stored, because its fields are stored one by one
    const value = collector.push(event)
    if (value === undefined || path.length > Math.max(depth + 2, 3) || ('aborted' in event && event.aborted)) return
    store(path, value)
  }

  /** Shows the program of an exec tool while the model writes it, if the contract is already known. */
  function readProgram(event: JsonEvent) {
    const { contract, prog_name = null } = call?.program ?? {}
    if (event.type === 'string.start' && contract !== undefined) describeProgram({ contract, prog_name })
    if (event.type === 'string.delta') exec.write(event.text)
    if (event.type === 'string.end') exec.endCode(event.aborted ? 'aborted' : 'whole')
  }

  function describeProgram(given: JsonValue | undefined) {
    if (!described) exec.describe(given, native ? native.notes() : notesText)
    described = true
  }

  function readLane(lane: HeldLane, event: JsonEvent) {
    const owner = currentCall
    if (event.type === 'string.delta') {
      lane.write(event.text)
      if (lane === notes) notesText += event.text
    } else if (event.type === 'string.end') {
      const ending = event.aborted ? 'aborted' : 'whole'
      if (owner) owner.endString(ending)
      else lane.end(ending)
      current = undefined
      currentCall = undefined
    }
    owner?.reconsider()
  }

  function finishRoot() {
    state.ended = true
    if (state.restarted && conflictingKeys(text).length > 0) refuse()
    if (listed.length > 0 && !hasAcceptedCalls(text)) refuse()
    if (state.refused || self.action !== 'call_tool') return
    for (const each of calls) each.reconsider()
    const only = onlyCall()
    if (only !== call && only?.toolId !== undefined) startExec(only.toolId)
    describeProgram(only?.params)
    for (const [index, each] of calls.entries()) showPlan(each, index)
  }

  function showPlan({ toolId, params }: CallLanes, index: number) {
    const card = toolId === 'react.plan' ? planCard(params, native ? native.notes() : notesText) : undefined
    if (card === undefined) return
    const lane = timelineLane(`timeline_text.react.plan.${iteration}${index === 0 ? '' : `.${index}`}`)
    lane.write(card)
    lane.end('whole')
  }
}

function hasSeveralObjects(text: string): boolean {
  const parsed = parseModelJson(text)
  return !parsed.ok && parsed.error.code === 'json.multiple'
}

/**
 * The number of keys in the path of a tool call, at the beginning of `path`: 1 for `tool_call`, 2 for an item of `tool_calls`, and 0 for
 * other paths.
 */
function callDepth(path: JsonPath): number {
  return path[0] === 'tool_call' ? 1 : path[0] === 'tool_calls' ? 2 : 0
}

/** The name of the field at `path`. Undefined when the user may not see the field while the model writes it. */
function shownField(path: JsonPath): 'final_answer' | 'notes' | 'content' | 'patch' | undefined {
  const last = path[path.length - 1]
  if (last === 'final_answer' || last === 'notes') return path.length === 1 ? last : undefined
  const depth = callDepth(path)
  return (last === 'content' || last === 'patch') && path[depth] === 'params' && depth > 0 && path.length === depth + 2 ? last : undefined
}

/** Whether the path consists of exactly these keys. Use it only for paths with at most three keys. */
function isAt(path: JsonPath, first: string, second?: string, third?: string): boolean {
  return path[0] === first && path[1] === second && path[2] === third
}
