// The package `daybook/adapters/skills`: skills that are read from folders.

export type * from '../../ports/skills.ts'
export type { SkillProblem } from './folder.ts'
export { openSkillFolders } from './skill-folders.ts'
export { builtInSkills, type FolderSkills, loadSkills, type SkillFolder } from './skills.ts'
