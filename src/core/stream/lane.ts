import type { CitationFormat, CitationReplacer } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'

/** A piece of a text that the user watches while the model writes it. Index 0 starts its lane from the beginning; `completed` ends it. */
export interface LaneDelta {
  /** Where a client shows it: thinking, answer, canvas, timeline_text, subsystem. New markers may be added. */
  readonly marker: string
  readonly artifact_name?: string
  readonly format: ChannelFormat
  readonly index: number
  readonly text: string
  readonly completed: boolean
  /** Set when the lane ended because the text stopped or became invalid. */
  readonly aborted?: true
  readonly extra?: LaneExtra
}

/** Groups the lanes of one program. */
export interface LaneExtra {
  readonly execution_id: string
  readonly sub_type: string
  readonly language?: string
}

/** The fields that all deltas of a lane share. */
export type LaneStyle = Pick<LaneDelta, 'marker' | 'artifact_name' | 'format' | 'extra'>
/** How the text of a lane ended: complete, or stopped before its end. */
export type LaneEnd = 'whole' | 'aborted'
export type EmitDelta = (delta: LaneDelta) => void
/** Changes text before it is shown, to replace citations; for lanes without citations it changes nothing. */
export type TextRewriter = Pick<CitationReplacer, 'push' | 'flush'>
/** Creates a rewriter of citations for one lane. */
export type CreateReplacer = (format: CitationFormat) => TextRewriter

/** Turns text into deltas. */
export interface Lane {
  write(text: string): void
  end(ending: LaneEnd): void
}

/** A lane that emits nothing until it has visible text. */
export interface LazyLane extends Lane {
  /** The lane has emitted more than white space. */
  readonly visible: boolean
}

/** A lane that may be written again after its end, when its channel is opened again: the index continues, with a new rewriter. */
export function createLane(style: LaneStyle, createRewriter: () => TextRewriter, emit: EmitDelta): Lane {
  return openLane(style, createRewriter, emit, true)
}

/**
 * A lane that stays silent, also about its end, until it has more than white space to show. Rewritten text counts: a citation of an
 * unknown source leaves nothing to show.
 */
export function createLazyLane(style: LaneStyle, createRewriter: () => TextRewriter, emit: EmitDelta): LazyLane {
  return openLane(style, createRewriter, emit, false)
}

function openLane(style: LaneStyle, createRewriter: () => TextRewriter, emit: EmitDelta, startVisible: boolean): LazyLane {
  let rewriter: TextRewriter | undefined
  let index = 0
  let visible = startVisible
  let blank = '' // white space before the first visible text

  function show(text: string) {
    if (visible) {
      if (text !== '') emit({ ...style, index: index++, text, completed: false })
      return
    }
    blank += text
    if (text.trim() === '') return
    visible = true
    emit({ ...style, index: index++, text: blank, completed: false })
  }

  return {
    get visible() {
      return visible
    },
    write(text) {
      rewriter ??= createRewriter()
      show(rewriter.push(text))
    },
    end(ending) {
      show(rewriter?.flush() ?? '')
      rewriter = undefined
      if (!visible) return
      const last = { ...style, index: index++, text: '', completed: true }
      emit(ending === 'aborted' ? { ...last, aborted: true } : last)
    },
  }
}

/** A lane that holds its text until it is decided where to show it, or that it is not shown. */
export interface HeldLane extends Lane {
  readonly state: 'held' | 'open' | 'dropped'
  /** The first characters of the text, at most `headLength`. */
  readonly head: string
  readonly ending: LaneEnd | undefined
  /** Writes the held text, and all that follows, to another lane. */
  release(lane: Lane): void
  /** Discards the text. */
  drop(): void
}

/** The length of `head`: fixed, so that decisions by the start of a text do not depend on where chunks were cut. */
export const headLength = 64

export function createHeldLane(): HeldLane {
  let held = ''
  let lane: Lane | undefined
  const self = {
    state: 'held' as HeldLane['state'],
    head: '',
    ending: undefined as LaneEnd | undefined,
    write(text: string) {
      self.ending = undefined
      if (self.head.length < headLength) self.head += text.slice(0, headLength - self.head.length)
      if (self.state === 'held') held += text
      else lane?.write(text)
    },
    end(ending: LaneEnd) {
      self.ending = ending
      lane?.end(ending)
    },
    release(target: Lane) {
      if (self.state !== 'held') return
      self.state = 'open'
      lane = target
      lane.write(held)
      held = ''
      if (self.ending !== undefined) lane.end(self.ending)
    },
    drop() {
      if (self.state !== 'held') return
      self.state = 'dropped'
      held = ''
    },
  }
  return self
}

/** Collects deltas until they are taken. */
export function createDeltaBuffer(): { emit(delta: LaneDelta): void; take(): readonly LaneDelta[] } {
  let deltas: LaneDelta[] = []
  return {
    emit: (delta) => void deltas.push(delta),
    take() {
      const taken = deltas
      deltas = []
      return taken
    },
  }
}

const identity: TextRewriter = { push: (text) => text, flush: () => '' }
export const withoutRewriting = (): TextRewriter => identity
