import { systemText } from '../../src/agent/prompts/texts.ts'
import { type BuiltInOptions, builtInTools } from '../../src/agent/tools.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'

/** A context size that leaves this many tokens for the prompt beside the system text with all built-in tools. */
export const contextWithRoom = (tokens: number, builtIn: BuiltInOptions = {}): number =>
  roughTokens(systemText({ tools: builtInTools(builtIn) })) + tokens
