import type { Settings } from '../config.ts'
import { errorMessage } from '../core/failure.ts'
import { findUnreferencedBlobs, type UnreferencedBlobs } from '../wiring.ts'
import type { Check } from './doctor-checks.ts'

/** Bytes that a process left behind when it died. They do no harm but take room. */
export async function checkBlobs(settings: Settings): Promise<Check> {
  const about = { what: 'blobs', needed: false, advice: 'daybook doctor --sweep removes what has had none for more than a day' }
  try {
    const left = await findUnreferencedBlobs(settings)
    return { ...about, ok: (left?.old.blobs ?? 0) === 0, found: left ? unreferencedText(left) : 'nothing kept yet' }
  } catch (error) {
    return { what: 'blobs', needed: true, ok: false, found: errorMessage(error) } // no server opens it either
  }
}

function unreferencedText({ old, young }: { readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs }): string {
  const [lost, late] = [`${old.blobs} (${formatSize(old)})`, `${young.blobs}`]
  if (old.blobs === 0) return young.blobs === 0 ? 'every one belongs to an entry' : `${late} (${formatSize(young)}) may still get an entry`
  return `${lost} belong to no entry${young.blobs === 0 ? '' : `, ${late} more (${formatSize(young)}) may still get one`}`
}

export const formatSize = ({ bytes }: UnreferencedBlobs) => `${bytes.toLocaleString('en')} bytes`
