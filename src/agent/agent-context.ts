import type { Model } from '../ports/model.ts'
import type { Models } from './turn/turn.ts'

/** One model serves every role that has none of its own. */
export function modelsByRole(model: Model | (Pick<Models, 'decision'> & Partial<Models>)): Models {
  if ('stream' in model) return { decision: model, gate: model, compaction: model }
  return { gate: model.decision, compaction: model.decision, ...model }
}
