const decoders = {
  'utf-8': new TextDecoder('utf-8', { fatal: true }),
  'utf-16le': new TextDecoder('utf-16le', { fatal: true }),
  'utf-16be': new TextDecoder('utf-16be', { fatal: true }),
} as const

/** How bytes say that they are written: UTF-16 always begins with its mark. */
export function detectCharset(bytes: Uint8Array): keyof typeof decoders {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

/** The text that bytes are, without its mark; undefined when they are none. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoders[detectCharset(bytes)].decode(bytes)
  } catch {
    return undefined
  }
}
