/** Limits of the files of one message. They apply if the limits of the server are not known. */
export const attachLimits: AttachLimits = { files: 20, bytes: 36 * 1024 * 1024 }

export interface AttachLimits {
  readonly files: number
  readonly bytes: number
}

/** A pasted text with more characters than this becomes a file. */
export const longPaste = 4_096

interface NamedFile {
  readonly name: string
  readonly size: number
}

/** Why a file can not be added, in words that name the file and the limit. Undefined if the file can be added. */
export function refuseFile(file: NamedFile, others: readonly NamedFile[], limits: AttachLimits = attachLimits): string | undefined {
  const { files, bytes } = limits
  if (file.size === 0) return `“${file.name}” is empty, so it was not attached.`
  if (file.size > bytes) return `“${file.name}” is too large: a message can have ${Math.round(bytes / 1024 / 1024)} MB of files.`
  if (others.length >= files) return `“${file.name}” was not attached: a message can have ${files} files.`
  const sum = others.reduce((total, { size }) => total + size, file.size)
  if (sum > bytes) return `“${file.name}” was not attached: all files of a message together can have ${Math.round(bytes / 1024 / 1024)} MB.`
  return undefined
}

/** A name that no other file of the message has. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  for (let number = 2; ; number++) {
    const candidate = `${stem} ${number}${ending}`
    if (!taken.includes(candidate)) return candidate
  }
}
