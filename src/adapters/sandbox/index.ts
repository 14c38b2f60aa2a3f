// The package `daybook/adapters/sandbox`: runs programs of models, isolated from this machine.

export type {
  ProgramEnd,
  ProgramLimit,
  Sandbox,
  SandboxFolders,
  SandboxLanguage,
  SandboxLimits,
  SandboxProgram,
  SandboxReport,
  SandboxRequest,
} from '../../ports/sandbox.ts'
export { type BubblewrapOptions, createBubblewrapSandbox, defaultLimits } from './bubblewrap.ts'
export { type FoundSandbox, findSandbox } from './find.ts'
