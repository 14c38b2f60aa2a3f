import { stagePath } from '../path/build.ts'
import type { Draft, Meta } from './block.ts'

export type StageName = 'gate' | 'react' | 'coordinator' | 'feedback' | 'clarification' | 'clarification.resolved' | 'suggested_followups'

const authors: { readonly [S in StageName]: string } = {
  gate: 'gate',
  react: 'react',
  coordinator: 'coordinator',
  feedback: 'user',
  clarification: 'system',
  'clarification.resolved': 'user',
  suggested_followups: 'system',
}

/** What a stage of the turn had to say. The text carries its own header. */
export function stageBlock<S extends StageName>(name: S, turnId: string, ts: string, text: string, meta?: Meta): Draft<`stage.${S}`> {
  const block = {
    type: `stage.${name}` as const,
    author: authors[name],
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: stagePath(turnId, name),
    text,
  }
  return meta === undefined ? block : { ...block, meta }
}

/** What the agent must know before it can go on, asked of the user. */
export function clarificationBlock(turnId: string, ts: string, questions: readonly string[]): Draft<'stage.clarification'> {
  return stageBlock('clarification', turnId, ts, `[STAGE: CLARIFICATION]\nquestions: ${questions.join(' | ')}`, { questions })
}

/** Questions the user may want to ask next. For the user, never for the model. */
export function suggestedFollowupsBlock(turnId: string, ts: string, items: readonly string[]): Draft<'stage.suggested_followups'> {
  return stageBlock('suggested_followups', turnId, ts, items.map((item) => `- ${item}`).join('\n'), { items })
}
