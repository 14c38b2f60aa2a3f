import type { FoundSandbox } from '../adapters/sandbox/index.ts'
import type { Settings } from '../config/settings.ts'
import type { Sandbox } from '../ports/sandbox.ts'

/** The settings that decide whether programs run, and their limits. */
export type SandboxSettings = Pick<Settings, 'sandbox' | 'programs'>

/** The sandbox of the settings. Undefined if programs are off, or if this machine can not isolate them. */
export async function openSandbox(settings: SandboxSettings): Promise<Sandbox | undefined> {
  return settings.sandbox === 'off' ? undefined : (await checkSandbox(settings)).sandbox
}

/** Finds out whether this machine can isolate programs, and what is installed for them. Never runs a program without isolation. */
export async function checkSandbox({ programs }: Pick<Settings, 'programs'>): Promise<FoundSandbox> {
  const { findSandbox, defaultLimits } = await import('../adapters/sandbox/index.ts')
  const { seconds, memoryMb, diskMb } = programs
  const disk = diskMb === undefined ? undefined : diskMb * MEBIBYTE
  return findSandbox({
    limits: {
      ...(seconds !== undefined && { maxSeconds: seconds, defaultSeconds: Math.min(defaultLimits.defaultSeconds, seconds) }),
      ...(memoryMb !== undefined && { memoryBytes: memoryMb * MEBIBYTE }),
      ...(disk !== undefined && { newBytes: disk, fileBytes: Math.min(defaultLimits.fileBytes, disk) }),
    },
  })
}

const MEBIBYTE = 1024 * 1024
