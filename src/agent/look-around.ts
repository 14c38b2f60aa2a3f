import { Failure } from '../core/failure.ts'
import type { Progress } from './turn/progress.ts'
import type { Turn } from './turn/turn.ts'

/** How the workspace stands as the round begins. What can not be looked at is not announced: the tools will say what is wrong with it. */
export async function refreshWorkspaceFacts(turn: Turn, progress: Progress): Promise<Progress> {
  try {
    const facts = await (await turn.workspace()).describe(turn.turnId)
    return { ...progress, workspace: facts }
  } catch (error) {
    if (error instanceof Failure) return progress
    throw error
  }
}
