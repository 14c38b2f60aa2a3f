import { isObject, type JsonObject, parseJson } from '../../../../core/json.ts'

/** A piece of a text file, by its lines. */
export interface TextWindow {
  readonly text: string
  readonly first: number
  readonly total: number
  /** What to ask `react.read` for to see what follows. */
  readonly next: JsonObject | undefined
}

/** What `react.read` shows of a text: the whole, or a window that says where it stands. */
export function parseWindow(body: string): TextWindow {
  const head =
    /^\[READ (?:RANGE|PREVIEW)\]\npath: .*\n(?:lines: \[(\d+)-\d+\]\/(\d+)\npartial_line: \w+|symbols: \[(\d+)-\d+\]\/(\d+))\n/.exec(body)
  if (!head) return wholeText(body)
  const [all, first, lines] = head
  const foot = /\nomitted: .*\ncontinue: react\.read\((.*)\)$/.exec(body)
  const shown = body.slice(all.length, foot?.index)
  const numbered = first !== undefined && shown.split('\n').every((line) => /^\s*\d+\t/.test(line))
  return {
    text: numbered ? shown.replace(/^\s*\d+\t/gm, '') : shown,
    first: Number(first ?? 1),
    total: Number(lines ?? 0),
    next: nextOf(foot?.[1]),
  }
}

function wholeText(body: string): TextWindow {
  const text = body.replace(/\n\.\.\.\[truncated, \d+ of \d+ characters shown.*\]$/, '')
  return { text, first: 1, total: text.split('\n').length, next: undefined }
}

/** Words that only look like ours give nothing to go on with. */
function nextOf(call: string | undefined): TextWindow['next'] {
  const params = parseJson(call)
  const item = isObject(params) && Array.isArray(params.items) ? params.items[0] : undefined
  return isObject(item) ? (item as JsonObject) : undefined
}
