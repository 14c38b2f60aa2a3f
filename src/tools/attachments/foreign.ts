import { bufferOf, viewOf } from '../bytes.ts'
import { endOfZip } from '../zip.ts'

/** Words that make a program or a page of whatever else the file is, where somebody opens it as one. */
const programMarkers = /<script|<html|<!doctype|<\?php/i

/** Something else that a picture or a PDF can be opened as, by one who starts reading elsewhere; undefined when there is nothing. */
export function polyglotType(bytes: Uint8Array, own: 'picture' | 'pdf'): string | undefined {
  if (endsAsZip(bytes)) return 'a ZIP archive'
  if (own === 'pdf') return undefined // whose text may speak of anything
  const buffer = bufferOf(bytes)
  if (buffer.includes('%PDF-')) return 'a PDF document'
  return programMarkers.test(buffer.toString('latin1')) ? 'a program or a web page' : undefined
}

/** Archives are read from their end: whatever stands before does not matter to who unpacks them. */
function endsAsZip(bytes: Uint8Array): boolean {
  const end = endOfZip(bytes)
  if (end === undefined) return false
  const view = viewOf(bytes)
  const start = end - view.getUint32(end + 12, true)
  return view.getUint16(end + 10, true) === 0 || (start >= 0 && view.getUint32(start, true) === 0x02014b50)
}
