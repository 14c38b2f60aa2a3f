import { unsafeReason } from '../../core/path/safety.ts'

/** A file as somebody sends it. Neither its name nor its declared type is believed. */
export interface Upload {
  readonly name: string
  /** What the sender says it is; refused when the bytes say otherwise. */
  readonly mime?: string
  /** Bytes, or the words of a text file. */
  readonly content: Uint8Array | string
}

const MiB = 1024 * 1024

export interface AttachmentLimits {
  /** Text and files of one message together. */
  readonly messageBytes: number
  readonly files: number
  readonly imageBytes: number
  readonly pdfBytes: number
  readonly textBytes: number
  /** Of one picture: what it would fill when it is unpacked. */
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

export type RejectionReason =
  | 'message_size_limit'
  | 'empty'
  | 'size_limit'
  | 'store_missing'
  | 'preflight_error'
  | 'preflight_rejected'
  | 'store_error'

/** What a look into a file found. */
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

/** Why a file was not taken: one entry of `details.attachments` of `attachment.rejected`. */
export interface Rejection {
  readonly name: string
  readonly reason: RejectionReason
  readonly finding?: Finding
  /** A sentence for whoever sent it. */
  readonly message: string
}

/** The same, before anybody said which file it is about. The words follow the file's name: "is empty". */
export interface Refusal {
  readonly reason: RejectionReason
  readonly finding?: Finding
  readonly words: string
}

export const refusal = (finding: Finding, words: string): Refusal => ({ reason: 'preflight_rejected', finding, words })

export const isRefusal = <T extends object>(value: T | Refusal): value is Refusal => 'words' in value

const maxNameLength = 80 // characters, of three bytes each

// Marks that turn the direction of writing: `photo\u202Egnp.exe` reads as `photoexe.png`.
const directionMarks = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u

/** The name lies to whoever reads it. */
export const isMisleading = (name: string): boolean => directionMarks.test(name)

/** A name that can be a path. Only the last part is kept: the rest told where it was on someone's disk. */
export function safeName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? ''
  if (unsafeReason(last) === undefined) return last
  const plain = last
    .normalize('NFC')
    .replace(/[:%\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '_')
    .slice(-maxNameLength)
    .replace(/^[\u{DC00}-\u{DFFF}]/u, '') // half of a character that was cut
  return unsafeReason(plain) === undefined ? plain : 'attachment'
}

/** Lower case, without its dot; '' when there is none. */
export const extensionOf = (name: string): string => /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
