import { vi } from 'vitest'

/** Loads disk.ts as on a system without `/proc/self/fd`. The module checks the system only when it is loaded. */
export async function loadPortableFiles(): Promise<typeof import('../../src/adapters/files/disk.ts')> {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor
  vi.resetModules()
  Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' })
  try {
    return await import('../../src/adapters/files/disk.ts')
  } finally {
    Object.defineProperty(process, 'platform', platform)
    vi.resetModules()
  }
}
