import { openSkillFolders } from '../adapters/skills/skill-folders.ts'
import type { FolderSkills } from '../adapters/skills/skills.ts'
import type { AgentParts } from '../agent/agent.ts'
import type { Settings } from '../config/settings.ts'
import { errorMessage } from '../core/failure.ts'
import { InvalidOption } from '../core/options.ts'
import type { FolderList, Skills } from '../ports/skills.ts'

/** Folders with skills, or an object that reads skills. */
export type SkillsChoice = FolderList | Skills | Settings['skills']

/**
 * The skills of an agent, as an option of the built-in tools. Empty without folders. A skill with an error is reported and left out. The
 * other skills are used. Throws `InvalidOption` when a folder can not be read.
 */
export function skillsOption(choice: SkillsChoice | undefined, onProblem?: AgentParts['onProblem']): { readonly skills?: Skills } {
  if (choice === undefined) return {}
  if (!isFolderList(choice)) return { skills: choice as Skills } // checked by the rules of the options
  if (choice.length === 0) return {}
  const skills = openSkills(choice)
  for (const { path, problem } of skills.problems) onProblem?.({ where: 'skills', error: new Error(`${path} ${problem}`) })
  return { skills }
}

/** Describes for `daybook doctor` which skills an agent with all tools has, and what is wrong with the files. */
export function describeSkills(choice: SkillsChoice): { readonly ok: boolean; readonly found: string; readonly advice?: string } {
  if (!isFolderList(choice)) return { ok: true, found: 'an object of the application' }
  const { list, problems } = openSkills(choice)
  const found = list().map(({ path }) => path)
  const advice = problems.slice(0, 5).map(({ path, problem }) => `${path} ${problem}`)
  return { ok: problems.length === 0, found: found.join(', ') || 'none', ...(advice.length > 0 && { advice: advice.join('; ') }) }
}

function openSkills(folders: FolderList): FolderSkills {
  try {
    return openSkillFolders(folders)
  } catch (error) {
    throw new InvalidOption('settings', 'skills', `the skills can not be read: ${errorMessage(error)}`, { cause: error })
  }
}

const isFolderList = (choice: SkillsChoice): choice is FolderList => Array.isArray(choice)
