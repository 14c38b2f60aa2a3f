import { hasBytesAt } from '../bytes.ts'
import { decodeText, extensionOf } from '../mime.ts'
import { readSmallEntry, readZip } from '../zip.ts'

/**
 * The result of checking a file that a tool made. If there is a `problem`, the digest of the artifact gets the status `error`. A `warning`
 * is written into the digest and has no other effect.
 */
interface Examination {
  readonly problem?: ArtifactProblem
  readonly warning?: 'file_unusually_small'
}

type ArtifactProblem = keyof typeof explanations

const explanations = {
  file_not_found: 'the file was not produced',
  empty_file: 'the file has no content',
  pdf_invalid: 'the file does not begin or end like a PDF',
  png_invalid: 'the file is not a PNG image',
  jpeg_invalid: 'the file is not a JPEG image',
  zip_invalid: 'the archive has no readable directory',
  docx_invalid: 'the file is not a Word document',
  pptx_invalid: 'the file is not a PowerPoint presentation',
  xlsx_open_failed: 'the workbook cannot be opened',
  xlsx_no_visible_sheets: 'the workbook has no visible sheet',
  json_invalid: 'the content is not JSON',
} as const

/** Explains a problem to the model. The explanation begins with the code of the problem. */
export const explainProblem = (problem: ArtifactProblem): string => `${problem}: ${explanations[problem]}`

const minimumSizes: ReadonlyMap<string, number> = new Map([
  ['pdf', 500],
  ['docx', 1_000],
  ['pptx', 2_000],
  ['xlsx', 1_000],
])

type Check = (bytes: Uint8Array) => ArtifactProblem | undefined

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['pdf', (bytes) => (isPdf(bytes) ? undefined : 'pdf_invalid')],
  ['png', (bytes) => (hasBytesAt(bytes, 0, '\x89PNG\r\n\x1a\n') ? undefined : 'png_invalid')],
  ['jpg', jpegProblem],
  ['jpeg', jpegProblem],
  ['zip', (bytes) => (readZip(bytes) === undefined ? 'zip_invalid' : undefined)],
  ['docx', (bytes) => (containsEntry(bytes, 'word/document.xml') ? undefined : 'docx_invalid')],
  ['pptx', (bytes) => (containsEntry(bytes, 'ppt/presentation.xml') ? undefined : 'pptx_invalid')],
  ['xlsx', workbookProblem],
  ['json', (bytes) => (isJson(bytes) ? undefined : 'json_invalid')],
])

/**
 * Checks a file according to its extension, because the extension decides with which program the user opens it. `bytes` is undefined when
 * the file does not exist.
 */
export function examine(name: string, bytes: Uint8Array | undefined): Examination {
  if (bytes === undefined) return { problem: 'file_not_found' }
  if (bytes.length === 0) return { problem: 'empty_file' }
  const extension = extensionOf(name)
  const problem = checks.get(extension)?.(bytes)
  const small = bytes.length < (minimumSizes.get(extension) ?? 0)
  return { ...(problem && { problem }), ...(small && { warning: 'file_unusually_small' as const }) }
}

function jpegProblem(bytes: Uint8Array): ArtifactProblem | undefined {
  return hasBytesAt(bytes, 0, '\xff\xd8\xff') ? undefined : 'jpeg_invalid'
}

/** Looks for `%PDF-` in the first kilobyte and for `%%EOF` in the last kilobyte. PDF viewers look for them in the same places. */
function isPdf(bytes: Uint8Array): boolean {
  const text = (from: number, to?: number) => Buffer.from(bytes.subarray(from, to)).toString('latin1')
  return text(0, 1024).includes('%PDF-') && text(-1024).includes('%%EOF')
}

const containsEntry = (bytes: Uint8Array, name: string) => readZip(bytes)?.some((entry) => entry.name === name) === true

const maxWorkbookBytes = 4 * 1024 * 1024

function workbookProblem(bytes: Uint8Array): ArtifactProblem | undefined {
  const entry = readZip(bytes)?.find(({ name }) => name === 'xl/workbook.xml')
  const xml = entry && readSmallEntry(bytes, entry, maxWorkbookBytes)?.toString('utf8')
  if (xml === undefined) return 'xlsx_open_failed'
  // The pattern allows no `<` inside a tag, so the search takes linear time even for a hostile workbook.
  const sheets = xml.match(/<(?:\w{1,64}:)?sheet\s[^<>]*>/g) ?? []
  return sheets.some((sheet) => !/\sstate="(?:hidden|veryHidden)"/.test(sheet)) ? undefined : 'xlsx_no_visible_sheets'
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(decodeText(bytes) ?? '')
    return true
  } catch {
    return false
  }
}
