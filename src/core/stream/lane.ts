import type { BufferingReplacer, CitationFormat } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'

/**
 * A piece of a text that the user sees while the model writes it. The pieces of one text form a lane, and `index` numbers them from 0. A
 * delta with `completed` ends the lane. If the model opens the channel again, the lane continues with the next index. A delta with the
 * index 0 begins the text anew: it replaces all earlier text of the lane.
 */
export interface LaneDelta {
  /** Where a client shows the text: `thinking`, `answer`, `canvas`, `timeline_text` or `subsystem`. Later releases may add markers. */
  readonly marker: string
  readonly artifact_name?: string
  readonly format: ChannelFormat
  readonly index: number
  readonly text: string
  readonly completed: boolean
  /** Set when the lane ended because the text stopped or became invalid. */
  readonly aborted?: true
  /**
   * Set in the dialect `native` while it is not known whether the text is the answer or notes about a call. A client that can not remove
   * text which it has shown must wait for the last delta of the lane.
   */
  readonly undecided?: true
  /** Set in the last delta of a lane with `undecided`. It says what the text was. */
  readonly as?: 'answer' | 'notes'
  /** Set when the text may contain internal content. A server sends such a text only to operators. */
  readonly internal?: true
  readonly extra?: LaneExtra
}

/**
 * More fields of a lane that shows a program. All lanes of one program have the same `execution_id`. `sub_type` says what the lane shows,
 * for example `code_exec.code`.
 */
export interface LaneExtra {
  readonly execution_id: string
  readonly sub_type: string
  readonly language?: string
}

/** The fields that are equal in all deltas of a lane. */
export type LaneStyle = Pick<LaneDelta, 'marker' | 'artifact_name' | 'format' | 'internal' | 'extra'>
/**
 * How the text of a lane ended. `whole`: the text is complete. `aborted`: the text is not complete. `cut`: the response broke off. A lane
 * may have held back its last characters, because they may be the beginning of a citation. With `cut`, these characters are not shown.
 */
export type LaneEnd = 'whole' | 'aborted' | 'cut'
export type EmitDelta = (delta: LaneDelta) => void
/** Replaces the citations in a text before it is shown. A lane without citations has a rewriter that changes nothing. */
export type TextRewriter = Pick<BufferingReplacer, 'push' | 'flush' | 'cut'>
/** Creates the rewriter that replaces citations in one lane. */
export type CreateReplacer = (format: CitationFormat) => TextRewriter

/** Takes the text of a lane and emits it as deltas. */
export interface Lane {
  write(text: string): void
  end(ending: LaneEnd): void
}

/** A lane that emits nothing until it has visible text. */
export interface LazyLane extends Lane {
  /** True when the lane has emitted more than white space. */
  readonly visible: boolean
  /**
   * How many characters at the end of the text were not shown. It is 0 unless the lane ended with `cut` and still kept the beginning of a
   * citation.
   */
  readonly unshown: number
}

/** Creates a lane. If the model opens its channel again, the lane can be written to after its end, and its index continues. */
export function createLane(style: LaneStyle, createRewriter: () => TextRewriter, emit: EmitDelta): Lane {
  return openLane(style, createRewriter, emit, true)
}

/**
 * Creates a lane that emits nothing, not even its end, until it has more than white space to show. Citations are replaced before this test.
 * A text with nothing but a citation of an unknown source becomes empty and is not shown.
 */
export function createLazyLane(style: LaneStyle, createRewriter: () => TextRewriter, emit: EmitDelta): LazyLane {
  return openLane(style, createRewriter, emit, false)
}

function openLane(style: LaneStyle, createRewriter: () => TextRewriter, emit: EmitDelta, startVisible: boolean): LazyLane {
  let rewriter: TextRewriter | undefined
  let index = 0
  let blank = '' // the white space before the first visible text

  function show(text: string) {
    if (self.visible) {
      if (text !== '') emit({ ...style, index: index++, text, completed: false })
      return
    }
    blank += text
    if (text.trim() === '') return
    self.visible = true
    emit({ ...style, index: index++, text: blank, completed: false })
  }

  // Plain fields, because creating an object with a getter takes 0.4 µs, and each response creates several lanes.
  const self = {
    visible: startVisible,
    unshown: 0,
    write(text: string) {
      rewriter ??= createRewriter()
      show(rewriter.push(text))
    },
    end(ending: LaneEnd) {
      if (ending === 'cut') {
        const { rest, dropped } = rewriter?.cut() ?? nothingHeld
        self.unshown = dropped
        show(rest)
      } else show(rewriter?.flush() ?? '')
      rewriter = undefined
      if (!self.visible) return
      const last = { ...style, index: index++, text: '', completed: true }
      emit(ending === 'whole' ? last : { ...last, aborted: true })
    },
  }
  return self
}

/** A lane that keeps its text until `release` says where to show it, or `drop` says that it is not shown. */
export interface HeldLane extends Lane {
  readonly state: 'held' | 'open' | 'dropped'
  /** The beginning of the text, at most `headLength` characters. */
  readonly head: string
  readonly ending: LaneEnd | undefined
  /** Writes the kept text, and all later text, to another lane. */
  release(lane: Lane): void
  /** Discards the kept text and all later text. */
  drop(): void
}

/**
 * The greatest length of `head`. Without this limit, `head` would be longer if the text arrives in larger chunks, and the same response
 * could lead to another decision.
 */
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

/** Collects deltas until `take` returns them. */
export function createDeltaBuffer(): { emit(delta: LaneDelta): void; take(): readonly LaneDelta[] } {
  let deltas: LaneDelta[] = []
  return {
    emit: (delta) => void deltas.push(delta),
    take() {
      if (deltas.length === 0) return noDeltas
      const taken = deltas
      deltas = []
      return taken
    },
  }
}

const noDeltas: readonly LaneDelta[] = []
const nothingHeld = { rest: '', dropped: 0 }
const identity: TextRewriter = { push: (text) => text, flush: () => '', cut: () => nothingHeld }
export const withoutRewriting = (): TextRewriter => identity
