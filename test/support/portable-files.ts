import { vi } from 'vitest'

/** Files of the disk as they are where there is no `/proc/self/fd`: the module looks at the platform once, when it is loaded. */
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
