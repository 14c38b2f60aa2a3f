/** Looking into bytes without leaving them: every read beyond the end gives nothing. */

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Are these the characters at this place? */
export function hasBytesAt(bytes: Uint8Array, at: number, characters: string): boolean {
  if (at < 0 || at + characters.length > bytes.length) return false
  for (let index = 0; index < characters.length; index++) if (bytes[at + index] !== characters.charCodeAt(index)) return false
  return true
}
