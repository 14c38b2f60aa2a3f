import type { Settings } from '../config/settings.ts'
import { errorMessage } from '../core/failure.ts'
import { describeVectors } from '../wiring/memory.ts'

/** Checks the embedding model of the memory search, and how many texts have a vector. No request is sent to a provider. */
export async function checkMemory(settings: Settings, environment: Readonly<Record<string, string | undefined>>) {
  const about = { name: 'memory search', required: false, advice: 'change or remove the setting embedding (DAYBOOK_EMBEDDING)' }
  try {
    return { ...about, ok: true, found: await describeVectors(settings, environment) }
  } catch (error) {
    return { ...about, ok: false, found: errorMessage(error) }
  }
}
