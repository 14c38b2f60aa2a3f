import { systemText } from '../../src/agent/prompts/texts.ts'
import { builtInTools } from '../../src/agent/tools.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'

/** A context size that leaves this many tokens beside the system text, however many tools it lists. */
export const contextWithRoom = (tokens: number): number => roughTokens(systemText({ tools: builtInTools() })) + tokens
