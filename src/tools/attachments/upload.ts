import { maximumSegmentBytes, unsafeReason } from '../../core/path/safety.ts'
import { cutUtf8 } from '../bytes.ts'

/** A file that a user sends with a message. Its name and its declared type may be false. */
export interface Upload {
  readonly name: string
  /** The media type that the sender declares. The file is rejected if its bytes have another type. */
  readonly mime?: string
  /** The bytes of the file, or the text of a text file. */
  readonly content: Uint8Array | string
}

const MiB = 1024 * 1024

/**
 * The limits of attachments. `messageBytes` and `files` are limits of one message, and all others are limits of one file. If a limit is
 * exceeded, the whole message is rejected. Limits whose names end in `Bytes` count bytes. The other limits count pixels, pages and so on.
 */
export interface AttachmentLimits {
  /** The size of the text and all files of one message together. */
  readonly messageBytes: number
  readonly files: number
  readonly imageBytes: number
  readonly pdfBytes: number
  readonly textBytes: number
  /** Width × height of one image. */
  readonly pixels: number
  readonly frames: number
  readonly pdfUpdates: number
  readonly pdfObjects: number
  readonly pdfObjectStreams: number
  readonly pdfStreamBytes: number
  readonly pdfPages: number
  readonly zipEntries: number
  readonly zipBytes: number
  readonly zipRatio: number
}

export const defaultAttachmentLimits: AttachmentLimits = {
  messageBytes: 25 * MiB,
  files: 20,
  imageBytes: 5 * MiB,
  pdfBytes: 10 * MiB,
  textBytes: 10 * MiB,
  pixels: 100_000_000,
  frames: 1_000,
  pdfUpdates: 5,
  pdfObjects: 100_000,
  pdfObjectStreams: 2_000,
  pdfStreamBytes: 100 * MiB,
  pdfPages: 500,
  zipEntries: 2_000,
  zipBytes: 120 * MiB,
  zipRatio: 200,
}

/** Why an attachment is rejected. */
export type RejectionReason =
  | 'message_size_limit'
  | 'empty'
  | 'size_limit'
  | 'store_missing'
  | 'preflight_error'
  | 'preflight_rejected'
  | 'store_error'

/** The problem that was found in a file. Set when the reason is `preflight_rejected`. */
export type Finding =
  | 'archive'
  | 'damaged'
  | 'encrypted'
  | 'infected'
  | 'macros'
  | 'misleading_name'
  | 'polyglot'
  | 'too_much_inside'
  | 'type_mismatch'
  | 'unsupported_type'

/** One rejected file and the reason. The failure `attachment.rejected` lists these in `details.attachments`. */
export interface Rejection {
  readonly name: string
  readonly reason: RejectionReason
  readonly finding?: Finding
  /** A sentence for the user who sent the file. */
  readonly message: string
}

/** A rejection without the file name. In the message, `words` follow after the name, as in "a.txt is empty". */
export interface Refusal {
  readonly reason: RejectionReason
  readonly finding?: Finding
  readonly words: string
}

export const refusal = (finding: Finding, words: string): Refusal => ({ reason: 'preflight_rejected', finding, words })

export const isRefusal = <T extends object>(value: T | Refusal): value is Refusal => 'words' in value

// Characters that change the direction of writing: `photo\u202Egnp.exe` is displayed as `photoexe.png`.
const directionMarks = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** Whether the name contains characters that make it look like another name when it is displayed. */
export const isMisleading = (name: string): boolean => directionMarks.test(name)

/** A name that is safe as part of a path. If the sender's program sent a whole path, only its last part is used. */
export function safeName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? ''
  if (unsafeReason(last) === undefined) return last
  const plain = withSuffix(last.normalize('NFC').replace(/[:%\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '_'), '')
  return unsafeReason(plain) === undefined ? plain : 'attachment'
}

/**
 * The longest extension in bytes. If the text after the last dot is longer, it is not an extension, and a suffix is put at the end of the
 * name.
 */
const maxExtensionBytes = 32

/**
 * Puts a suffix before the extension of a name: `a.png` and `-2` give `a-2.png`. If the name would be too long for a file system, the part
 * before the suffix is shortened. No character is split.
 */
export function withSuffix(name: string, suffix: string): string {
  const [, stem = name, extension = ''] = /^(.+?)(\.[^./]*)?$/s.exec(name) ?? []
  if (Buffer.byteLength(extension) > maxExtensionBytes) return `${cutUtf8(Buffer.from(name), maximumSegmentBytes - suffix.length)}${suffix}`
  return `${cutUtf8(Buffer.from(stem), maximumSegmentBytes - Buffer.byteLength(extension) - suffix.length)}${suffix}${extension}`
}
