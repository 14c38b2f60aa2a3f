import { type NativeContent, readNativeParts } from '../../core/decision/native-response.ts'
import type { LaneEnd } from '../../core/stream/lane.ts'
import { createPartCollector, formatParts, type NativeEvent, partsText } from '../../core/stream/native-parts.ts'
import { createLiveOutput, type LiveOutput } from './live-output.ts'
import type { ReadOptions } from './model-response.ts'

/** Reads a response in the dialect `native` while it arrives. */
export interface NativeReader {
  receive(event: NativeEvent): void
  end(how: LaneEnd): void
  readonly liveOutput: LiveOutput
  /** The parts received so far, in the form that is journaled. */
  raw(): string
  /** The parts received so far, as text that the model can read. */
  text(): string
  content(): NativeContent
  /** Whether the response has a call whose arguments are not complete. */
  isOpen(): boolean
}

export function createNativeReader({ createNativeLanes, emit }: ReadOptions): NativeReader {
  const collector = createPartCollector()
  const liveOutput = createLiveOutput(createNativeLanes, emit)
  return {
    receive(event) {
      collector.add(event)
      liveOutput.add([event])
    },
    end: (how) => liveOutput.end(how),
    liveOutput,
    raw: () => formatParts(collector.parts),
    text: () => partsText(collector.parts),
    content: () => readNativeParts(collector.parts),
    isOpen: () => collector.parts.some((part) => part.type === 'call' && part.open),
  }
}
