import { type CacheFinding, lintStability, lintTexts, type PromptText } from '../../core/cache/lint.ts'
import { catalogText } from '../../tools/catalog.ts'
import { skillCatalogText } from '../../tools/skill-catalog.ts'
import type { AgentParts } from '../agent.ts'
import { builtInTools } from '../tools.ts'
import { defaultInstructions, protocolText } from './texts.ts'

/** The parts of an agent that make up its system text. */
export type StandingParts = Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation'>

/**
 * Builds the system text twice and reports parts of it that would invalidate the provider's cache. Examples are dates, times and ids in the
 * text, and a varying order of the tools.
 */
export async function lintAgent(construct: () => StandingParts | Promise<StandingParts>): Promise<readonly CacheFinding[]> {
  const texts = fixedTexts(await construct())
  return [...lintTexts(texts), ...lintStability(texts, fixedTexts(await construct()))]
}

function fixedTexts({ tools = [], builtIn = {}, instructions = defaultInstructions, customisation }: StandingParts): readonly PromptText[] {
  return [
    { where: 'protocol', text: protocolText },
    { where: 'instructions', text: instructions },
    ...(customisation === undefined ? [] : [{ where: 'customisation', text: customisation }]),
    { where: 'skills', text: skillCatalogText(builtIn.skills?.list?.() ?? []) },
    ...[...builtInTools(builtIn), ...tools].map((tool) => ({ where: `tool ${tool.id}`, text: catalogText([tool]) })),
  ]
}
