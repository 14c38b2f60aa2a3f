import type { FrozenTexts } from '../../core/timeline/change.ts'
import type { ChangingParts, ToolServices, TurnServices } from '../agent-context.ts'
import type { ConversationContext } from '../conversation/context.ts'
import type { Toolbox } from '../tools.ts'
import type { TurnStart } from '../turn/start.ts'
import type { Turn } from '../turn/turn.ts'
import { changedTexts, freezeTexts, frozenTexts, type Texts } from './frozen-texts.ts'

/** The tools of MCP servers that a turn uses. */
export interface FrozenTools {
  readonly toolbox: Toolbox
  /** The frozen texts that `turn.opened` stores. Undefined when the turn is resumed. */
  readonly frozen?: FrozenTexts
  readonly services: ToolServices
  /** The tools for the rest of the turn after a compaction. Undefined if the tools have not changed. */
  changed(): Promise<{ readonly services: ToolServices; readonly frozen: FrozenTexts } | undefined>
}

/** Decides with which tools a turn runs. A new turn freezes its tools. A resumed turn uses the tools that it has frozen before. */
export async function freezeTools(
  { ledger, blobs }: Pick<ConversationContext, 'ledger' | 'blobs'>,
  { texts: changing, servicesWith }: ChangingParts,
  { kind }: TurnStart,
  now: string,
): Promise<FrozenTools> {
  const freezing = { changing, blobs }
  const begun =
    kind === 'unfinished' ? { texts: await frozenTexts(freezing, ledger.timeline) } : await freezeTexts(freezing, ledger.timeline, now)
  let texts: Texts = begun.texts
  const services = servicesWith(texts)
  return {
    toolbox: services.toolbox,
    services,
    ...('frozen' in begun && { frozen: begun.frozen }),
    async changed() {
      const found = await changedTexts(freezing, texts)
      if (!found) return undefined
      texts = found.texts
      return { services: servicesWith(texts), frozen: found.frozen }
    },
  }
}

/** A turn whose tools can change at a compaction. `servicesOf` makes the services of the turn with given tools. */
export function turnWithTools(
  turn: Omit<Turn, 'agent' | 'adoptTexts'>,
  tools: Pick<FrozenTools, 'services' | 'changed'>,
  servicesOf: (tools: ToolServices) => TurnServices,
): Turn {
  let agent = servicesOf(tools.services)
  return {
    ...turn,
    get agent() {
      return agent
    },
    async adoptTexts(commit) {
      const changed = await tools.changed()
      await commit(changed?.frozen)
      if (changed) agent = servicesOf(changed.services)
    },
  }
}

/** The start of a turn with the texts that it freezes. */
export const withFrozen = (start: TurnStart, frozen: FrozenTexts | undefined): TurnStart =>
  start.kind === 'message' && frozen ? { ...start, input: { ...start.input, frozen } } : start
