import type { CitationFormat, CitationReplacer } from '../citations/replace.ts'
import type { ChannelFormat } from './channel.ts'

/** A piece of something a person is watching appear. Index 0 starts its lane anew; `completed` ends it. */
export interface LaneDelta {
  /** Where a client shows it: thinking, answer, canvas, timeline_text, subsystem. An open set. */
  readonly marker: string
  readonly artifactName?: string
  readonly format: ChannelFormat
  readonly index: number
  readonly text: string
  readonly completed: boolean
  /** Ended because the text stopped or broke, not because it was whole. */
  readonly aborted?: true
  readonly extra?: LaneExtra
}

export interface LaneExtra {
  readonly execution_id: string
  readonly sub_type: string
  readonly language?: string
}

export type LaneStyle = Pick<LaneDelta, 'marker' | 'artifactName' | 'format' | 'extra'>
export type LaneEnd = 'whole' | 'aborted'
export type EmitDelta = (delta: LaneDelta) => void
/** What happens to text on its way out. */
export type TextRewriter = Pick<CitationReplacer, 'push' | 'flush'>
export type CreateReplacer = (format: CitationFormat) => TextRewriter

export interface Lane {
  write(text: string): void
  end(ending: LaneEnd): void
}

export interface LazyLane extends Lane {
  /** It has said more than blanks. */
  readonly visible: boolean
}

const noDeltas: readonly LaneDelta[] = []

/** Collects deltas until they are taken. Most events cause one or none. */
export function createDeltaBuffer(): { emit(delta: LaneDelta): void; take(): readonly LaneDelta[] } {
  let deltas: LaneDelta[] | undefined
  return {
    emit(delta) {
      if (deltas === undefined) deltas = [delta]
      else deltas.push(delta)
    },
    take() {
      const taken = deltas ?? noDeltas
      deltas = undefined
      return taken
    },
  }
}

const identity: TextRewriter = { push: (text) => text, flush: () => '' }
export const withoutRewriting = (): TextRewriter => identity

/** A lane may be written again after its end, when its channel comes again: the index goes on, the rewriting starts afresh. */
export function createLane(style: LaneStyle, rewritingOf: () => TextRewriter, emit: EmitDelta): Lane {
  return openLane(style, rewritingOf, emit, true)
}

/**
 * A lane that a person does not see until it has more to say than blanks; its end is not told either. What counts is what is left to
 * read: a citation of nothing known leaves nothing.
 */
export function createLazyLane(style: LaneStyle, rewritingOf: () => TextRewriter, emit: EmitDelta): LazyLane {
  return openLane(style, rewritingOf, emit, false)
}

function openLane(style: LaneStyle, rewritingOf: () => TextRewriter, emit: EmitDelta, aloud: boolean): LazyLane {
  let rewriting: TextRewriter | undefined
  let index = 0
  let spoken = aloud
  let blank = ''
  const say = (text: string) => {
    if (spoken) {
      if (text !== '') emit(deltaOf(style, index++, text, false))
      return
    }
    blank += text
    if (text.trim() === '') return
    spoken = true
    emit(deltaOf(style, index++, blank, false))
  }
  return {
    get visible() {
      return spoken
    },
    write(text) {
      rewriting ??= rewritingOf()
      say(rewriting.push(text))
    },
    end(ending) {
      say(rewriting?.flush() ?? '')
      rewriting = undefined
      if (!spoken) return
      const last = deltaOf(style, index++, '', true)
      emit(ending === 'aborted' ? { ...last, aborted: true } : last)
    },
  }
}

/** One is made for every piece: what most of them are is written out, for a spread would cost more than all the rest. */
function deltaOf(style: LaneStyle, index: number, text: string, completed: boolean): LaneDelta {
  const { marker, artifactName, format, extra } = style
  if (extra !== undefined) return { ...style, index, text, completed }
  if (artifactName === undefined) return { marker, format, index, text, completed }
  return { marker, artifactName, format, index, text, completed }
}

/** Text that waits until it is known where it may be shown, or that it may not. */
export interface HeldLane extends Lane {
  readonly state: 'held' | 'open' | 'dropped'
  /** Its first characters, and how it ended if it has. */
  readonly head: string
  readonly ending: LaneEnd | undefined
  release(lane: Lane): void
  drop(): void
}

/** More than anyone needs to judge a text by its beginning. Fixed, so that a verdict does not depend on how the text was cut. */
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
    end(how: LaneEnd) {
      self.ending = how
      lane?.end(how)
    },
    release(to: Lane) {
      if (self.state !== 'held') return
      self.state = 'open'
      lane = to
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
