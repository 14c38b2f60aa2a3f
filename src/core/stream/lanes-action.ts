import { createJsonCollector } from './json-collector.ts'
import type { JsonEvent, JsonPath, JsonValue } from './json-event.ts'
import { createJsonReader } from './json-reader.ts'
import { createHeldLane, createLazyLane, type EmitDelta, type HeldLane, type Lane } from './lane.ts'
import { type ContentParams, decideContent } from './lanes-content.ts'
import { createExecLanes, type ExecLanes, type ExecSettings, execLanguage } from './lanes-exec.ts'

export interface ActionSettings extends ExecSettings {
  readonly iteration: number
}

/** Lanes of the action channel. Reads its JSON while the model writes it, and shows the fields that the user may see. */
export interface ActionLanes {
  push(text: string): void
  end(): void
  readonly exec: ExecLanes
  /** The action, trimmed and in lower case. Undefined until its string is complete. */
  readonly action: string | undefined
  /** The lane of the field `final_answer`. It is shown only if no answer channel with visible text follows. */
  readonly answer: HeldLane | undefined
  /** True while the action channel has only white space. */
  readonly blank: boolean
}

export function createActionLanes(settings: ActionSettings, emit: EmitDelta): ActionLanes {
  const { iteration, replacer } = settings
  const exec = createExecLanes(settings, emit)
  const reader = createJsonReader()
  const collector = createJsonCollector()
  let notes: HeldLane | undefined
  let notesText = ''
  let toolId: string | undefined
  const params: ContentParams = { path: undefined, channel: undefined, format: undefined }
  let paramsEnded = false
  let wholeParams: JsonValue | undefined
  let current: HeldLane | undefined
  let content: { readonly field: string; readonly lane: HeldLane } | undefined

  const self = {
    exec,
    action: undefined as string | undefined,
    answer: undefined as HeldLane | undefined,
    blank: true,
    push(text: string) {
      if (self.blank) self.blank = text.trim() === ''
      for (const event of reader.push(text)) read(event)
    },
    end() {
      for (const event of reader.end()) read(event)
      if (self.action !== 'call_tool' || toolId === undefined) exec.discard()
      notes?.drop()
      content?.lane.drop()
    },
  }
  return self

  function timelineLane(artifactName: string): Lane {
    return createLazyLane({ marker: 'timeline_text', artifact_name: artifactName, format: 'markdown' }, () => replacer('markdown'), emit)
  }

  /** Releases or drops held lanes. Called when another value of the action is known. */
  function reconsider() {
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
    const { field, lane } = content
    const verdict = decideContent({
      action: self.action,
      toolId,
      field,
      params,
      paramsEnded,
      head: lane.head,
      whole: lane.ending === 'whole',
    })
    if (verdict === 'drop') lane.drop()
    else if (verdict !== 'wait') lane.release(createLazyLane(verdict.style, () => replacer(verdict.citations), emit))
  }

  /** Creates the lane for the string at `path`. Undefined when the string is not shown. A repeated key gets a new lane. */
  function laneAt(path: JsonPath): HeldLane | undefined {
    const field = shownField(path)
    if (field === undefined) return undefined
    const lane = createHeldLane()
    if (field === 'final_answer') self.answer = lane
    else if (field === 'notes') {
      notes = lane
      notesText = ''
    } else content = { field, lane }
    reconsider()
    return lane
  }

  /** Stores a complete value. */
  function store(path: JsonPath, value: JsonValue) {
    if (isAt(path, 'final_answer')) self.answer = undefined
    else if (isAt(path, 'action') && typeof value === 'string') self.action = value.trim().toLowerCase()
    else if (isAt(path, 'tool_call', 'tool_id') && typeof value === 'string') toolId = value.trim()
    else if (isAt(path, 'tool_call', 'params')) {
      wholeParams = value
      paramsEnded = true
    } else if (path[0] === 'tool_call' && path[1] === 'params') storeParam(String(path[2]), value)
    else return
    reconsider()
  }

  function storeParam(key: string, value: JsonValue) {
    if (key === 'path' || key === 'channel' || key === 'format') params[key] = value
    if (key !== 'content' || toolId !== 'react.write' || typeof value !== 'object' || value === null) return
    content = { field: key, lane: createHeldLane() }
    content.lane.write(JSON.stringify(value, null, 2)) // `react.write` writes the same text
    content.lane.end('whole')
  }

  function read(event: JsonEvent) {
    if (event.type === 'string.start' && event.path.length <= 3) current = laneAt(event.path)
    if (current !== undefined) return readLane(current, event)
    if (event.path.length === 0) {
      if (event.type === 'object.end' && !event.aborted) finishRoot()
      return
    }
    if (isAt(event.path, 'tool_call')) return // the fields of `tool_call` are stored one by one, like those of the root
    const value = collector.push(event)
    if (value === undefined || event.path.length > 3 || ('aborted' in event && event.aborted)) return
    store(event.path, value)
  }

  function readLane(lane: HeldLane, event: JsonEvent) {
    if (event.type === 'string.delta') {
      lane.write(event.text)
      if (lane === notes) notesText += event.text
    } else if (event.type === 'string.end') {
      lane.end(event.aborted ? 'aborted' : 'whole')
      current = undefined
    }
    if (lane === content?.lane) reconsiderContent()
  }

  function finishRoot() {
    if (self.action !== 'call_tool') return
    exec.describe(wholeParams, notesText)
    const card = toolId === 'react.plan' ? planCard(wholeParams, notesText) : undefined
    if (card === undefined) return
    const lane = timelineLane(`timeline_text.react.plan.${iteration}`)
    lane.write(card)
    lane.end('whole')
  }
}

/** The name of the field at `path`, if the user may see it while the model writes it. */
function shownField(path: JsonPath): 'final_answer' | 'notes' | 'content' | 'patch' | undefined {
  const last = path[path.length - 1]
  if (last === 'final_answer' || last === 'notes') return path.length === 1 ? last : undefined
  return (last === 'content' || last === 'patch') && isAt(path, 'tool_call', 'params', last) ? last : undefined
}

/** True when the path has exactly these steps. Only for paths of at most three steps. */
function isAt(path: JsonPath, first: string, second?: string, third?: string): boolean {
  return path[0] === first && path[1] === second && path[2] === third
}

/** The title of a plan card for each mode of a `react.plan` call. */
const planTitles: Readonly<Record<string, string>> = {
  new: 'New Plan',
  activate: 'Activated Plan',
  replace: 'Replaced Plan',
  close: 'Closed Plan',
}

/** The text that shows a `react.plan` call to the user. Undefined when the mode is invalid, because the call will be rejected. */
function planCard(params: JsonValue | undefined, notes: string): string | undefined {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return undefined
  const { mode, plan_id: planId, steps } = params as { readonly [key: string]: JsonValue }
  const name = typeof mode === 'string' ? mode.trim().toLowerCase() : ''
  if (!Object.hasOwn(planTitles, name)) return undefined
  const labels = Array.isArray(steps) ? steps.map(labelOf).filter((label) => label !== '') : []
  const note = firstLine(notes)
  const verb = name === 'close' ? 'Close' : 'Activate'
  const headline = note || labels[0] || `${verb} plan \`${typeof planId === 'string' ? planId : ''}\`.`
  return [`• ${planTitles[name]}`, `└ ${headline}`, ...labels.map((label) => `  □ ${label}`)].join('\n')
}

function firstLine(text: string): string {
  return (
    text
      .split('\n')
      .map((line) => line.trim())
      .find((line) => line !== '') ?? ''
  )
}

/** The label of a plan step. A step is a string, or in older plans an object with a `label`. */
function labelOf(step: JsonValue): string {
  if (typeof step === 'string') return firstLine(step)
  const label = typeof step === 'object' && step !== null && 'label' in step ? step.label : ''
  return typeof label === 'string' ? firstLine(label) : ''
}
