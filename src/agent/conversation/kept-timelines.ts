import { outlineOf } from '../../core/timeline/block-buffer.ts'
import { emptyTimeline, type Timeline } from '../../core/timeline/timeline.ts'
import type { Claim, Saved } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import type { Renderers } from './renderers.ts'

type TimelineOwner = Pick<AgentContext, 'store' | 'createRenderers'>

/** A timeline, and the objects that have rendered it. */
export interface OpenTimeline {
  readonly saved: Saved
  readonly renderers: Renderers
}

/**
 * Keeps the timelines of conversations that have run, so that their next turns need not load and render them again. When the timelines take
 * too much memory, the timeline that was not used for the longest time is dropped. The timeline of the conversation that ran last is always
 * kept.
 */
export interface KeptTimelines {
  /**
   * The timeline of a conversation that was just claimed. It is loaded from the store if it is not kept, or if another process has claimed
   * the conversation meanwhile.
   */
  open(agent: TimelineOwner, claim: Claim): Promise<OpenTimeline>
  /** Keeps the timeline that the holder of `claim` leaves behind. */
  keep(agent: TimelineOwner, claim: Claim, timeline: OpenTimeline): void
  forget(conversationId: string): void
  /** The estimated memory of all kept timelines. */
  readonly bytes: number
}

interface KeptTimeline extends OpenTimeline {
  /** The epoch of the claim that left the timeline. */
  readonly epoch: number
  readonly createRenderers: AgentContext['createRenderers']
  readonly bytes: number
}

/** `maxBytes` is how much memory the timelines may take together, by the estimate of `bytesOf`. */
export function createKeptTimelines(maxBytes: number): KeptTimelines {
  const kept = new Map<string, KeptTimeline>() // the first item is the one that was not used for the longest time
  let bytes = 0

  function take(conversationId: string): KeptTimeline | undefined {
    const taken = kept.get(conversationId)
    if (taken && kept.delete(conversationId)) bytes -= taken.bytes
    return taken
  }

  return {
    async open(agent, claim) {
      const { conversationId, found } = claim
      const last = take(conversationId)
      const isCurrent = last !== undefined && last.epoch === found.epoch && last.saved.lastSeq === found.lastSeq
      if (isCurrent)
        return { saved: last.saved, renderers: last.createRenderers === agent.createRenderers ? last.renderers : agent.createRenderers() }
      const isNew = found.lastSeq === 0
      const saved = isNew ? undefined : await agent.store.loadVisible(conversationId)
      return { saved: saved ?? { timeline: emptyTimeline(), lastSeq: 0 }, renderers: agent.createRenderers() }
    },

    keep({ createRenderers }, { conversationId, epoch }, { saved, renderers }) {
      take(conversationId)
      const added = { saved, renderers, epoch, createRenderers, bytes: bytesOf(saved.timeline) }
      kept.set(conversationId, added)
      bytes += added.bytes
      for (const oldest of kept.keys()) {
        if (bytes <= maxBytes || oldest === conversationId) break
        take(oldest)
      }
    },

    forget: (conversationId) => void take(conversationId),

    get bytes() {
      return bytes
    },
  }
}

/** The estimated memory for one block: the block, its rendered parts, and its entries in indexes. */
const BYTES_PER_BLOCK = 1_000
/** A text is in memory twice: in the timeline and in the prompt. */
const BYTES_PER_CHARACTER = 2

/** About how much memory a timeline and its renderers take. */
function bytesOf({ buffer, size, sources }: Timeline): number {
  let { characters } = outlineOf(buffer)
  for (const { text, content } of sources.rows) characters += (text?.length ?? 0) + (content?.length ?? 0)
  return BYTES_PER_BLOCK * (size + sources.rows.length) + BYTES_PER_CHARACTER * characters
}
