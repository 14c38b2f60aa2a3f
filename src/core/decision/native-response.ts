import type { Dialect } from '../model-event.ts'
import { type NativePart, parseParts } from '../stream/native-parts.ts'
import { createNativeTextParser } from '../stream/native-text.ts'
import {
  collectChannels,
  decisionChannels,
  type NativeCall,
  type ParsedResponse,
  parseResponse,
  type ReceivedChannel,
  type ResponseEnd,
} from './decision.ts'

/**
 * Parses a response of either dialect in the form in which the journal stores it. This is needed to resume a turn after a crash, and to
 * find the complete parameters of an old call.
 */
export function parseRecordedResponse(
  { raw, dialect }: { readonly raw: string; readonly dialect?: Dialect },
  end: ResponseEnd,
): ParsedResponse {
  if (dialect !== 'native') return parseResponse(raw, end)
  return { ...end, ...readNativeParts(parseParts(raw)), preamble: '', raw }
}

/** The channels and calls of a response in the dialect `native`. */
export interface NativeContent {
  /** The response as channels: `thinking` for the reasoning, `answer` for the text, and channels that the model wrote into its text. */
  readonly channels: readonly ReceivedChannel[]
  readonly calls: readonly NativeCall[]
}

/**
 * Reads the parts of a native response. Reasoning is the channel `thinking`. Text is the channel `answer`. If the response has calls, this
 * text becomes the notes of the calls. Otherwise it is the answer.
 */
export function readNativeParts(parts: readonly NativePart[]): NativeContent {
  const thinking: string[] = []
  const texts: string[] = []
  const calls: NativeCall[] = []
  for (const part of parts) {
    if (part.type === 'reasoning') thinking.push(part.text)
    else if (part.type === 'text') texts.push(part.text)
    else calls.push({ name: part.name, input: part.input, complete: part.open !== true })
  }
  const text = texts.join('\n\n')
  const written = text === '' ? noChannels : text.includes('<') ? splitText(text) : [plainAnswer(text)]
  if (thinking.length === 0) return { channels: written, calls }
  const inText = written.find(({ name }) => name === 'thinking')?.instances ?? []
  const all: ReceivedChannel = { name: 'thinking', instances: [...thinking, ...inText], closed: 'tag' }
  return { channels: [all, ...written.filter(({ name }) => name !== 'thinking')], calls }
}

const noChannels: readonly ReceivedChannel[] = []

/**
 * The text of a native response as the channel `answer`. It has no close tag, so `closed` is `cut`: the text ends where the response ends.
 * If the output limit cut the response off, this text is incomplete.
 */
const plainAnswer = (text: string): ReceivedChannel => ({ name: 'answer', instances: [text], closed: 'cut' })

function splitText(text: string): readonly ReceivedChannel[] {
  const parser = createNativeTextParser(decisionChannels)
  return collectChannels([...parser.push(text), ...parser.end()])
}
