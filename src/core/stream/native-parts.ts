import { isObject, parseJson } from '../json.ts'
import type { ModelEvent } from '../model-event.ts'

/** One part of a response in the dialect `native`, as the provider sent it. The journal stores the list of parts as JSON text. */
export type NativePart =
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'text'; readonly text: string }
  /** A call of a tool. `input` is the text of its arguments. `open` is set when the response ended before the arguments were complete. */
  | { readonly type: 'call'; readonly name: string; readonly input: string; readonly open?: true }

/** The events of a response that become parts. */
export type NativeEvent = Exclude<ModelEvent, { type: 'finish' | 'error' }>

type OpenPart = { type: 'reasoning' | 'text'; text: string } | { type: 'call'; name: string; input: string; open?: true }

/** Collects the events of a response into parts. Consecutive pieces of text become one part. */
export function createPartCollector() {
  const parts: OpenPart[] = []
  const calls = new Map<number, Extract<OpenPart, { type: 'call' }>>()

  function addText(type: 'reasoning' | 'text', text: string): void {
    const last = parts.at(-1)
    if (last?.type === type) last.text += text
    else if (text !== '') parts.push({ type, text })
  }

  return {
    /** The parts so far. */
    parts: parts as readonly NativePart[],
    add(event: NativeEvent): void {
      if (event.type === 'text.delta') addText('text', event.text)
      else if (event.type === 'reasoning.delta') addText('reasoning', event.text)
      else if (event.type === 'call.start') {
        const call = { type: 'call' as const, name: event.name, input: '', open: true as const }
        calls.set(event.index, call)
        parts.push(call)
      } else {
        const call = calls.get(event.index)
        if (call === undefined) return // the adapter has not announced a call with this index
        if (event.type === 'call.delta') call.input += event.text
        else delete call.open
      }
    },
  }
}

/** The parts as the text that the journal stores. Empty when the response has no parts. */
export const formatParts = (parts: readonly NativePart[]): string => (parts.length === 0 ? '' : JSON.stringify(parts))

/** Parses the text that the journal stores. Values that are not parts are left out, because an imported journal may contain any text. */
export function parseParts(raw: string): readonly NativePart[] {
  const list = parseJson(raw)
  if (!Array.isArray(list)) return []
  return list.flatMap((value): readonly NativePart[] => {
    if (!isObject(value)) return []
    const { type, text, name, input, open } = value
    if ((type === 'reasoning' || type === 'text') && typeof text === 'string') return [{ type, text }]
    if (type !== 'call' || typeof name !== 'string' || typeof input !== 'string') return []
    return [{ type, name, input, ...(open === true && { open: true as const }) }]
  })
}

/** Events from which `createPartCollector` makes the same parts again. */
export function eventsOfParts(parts: readonly NativePart[]): readonly NativeEvent[] {
  let calls = 0
  return parts.flatMap((part): readonly NativeEvent[] => {
    if (part.type === 'text') return [{ type: 'text.delta', text: part.text }]
    if (part.type === 'reasoning') return [{ type: 'reasoning.delta', text: part.text }]
    const index = calls++
    return [
      { type: 'call.start', index, name: part.name },
      ...(part.input === '' ? [] : [{ type: 'call.delta' as const, index, text: part.input }]),
      ...(part.open ? [] : [{ type: 'call.end' as const, index }]),
    ]
  })
}

/** The parts as a text for the model. Later prompts show an interrupted response in this form. */
export const partsText = (parts: readonly NativePart[]): string =>
  parts.map((part) => (part.type === 'call' ? `[call of ${part.name}] ${part.input}` : part.text.trim())).join('\n\n')
