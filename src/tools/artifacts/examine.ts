import { zipEntries } from './zip.ts'

/** What is wrong with a file that a tool says it has made. A problem fails the artifact; a warning is only mentioned. */
export interface Examination {
  readonly problem?: ArtifactProblem
  readonly warning?: 'file_unusually_small'
}

export type ArtifactProblem = keyof typeof explanations

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

/** Sentences for the model: the code first, so that it can be matched on. */
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
  ['png', (bytes) => (hasPrefix(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) ? undefined : 'png_invalid')],
  ['jpg', jpegProblem],
  ['jpeg', jpegProblem],
  ['zip', (bytes) => (zipEntries(bytes) === undefined ? 'zip_invalid' : undefined)],
  ['docx', (bytes) => (containsEntry(bytes, 'word/document.xml') ? undefined : 'docx_invalid')],
  ['pptx', (bytes) => (containsEntry(bytes, 'ppt/presentation.xml') ? undefined : 'pptx_invalid')],
  ['xlsx', workbookProblem],
  ['json', (bytes) => (isJson(bytes) ? undefined : 'json_invalid')],
])

/** By the name of the file: that is what whoever receives it will open it by. Undefined bytes: nothing is there. */
export function examine(name: string, bytes: Uint8Array | undefined): Examination {
  if (bytes === undefined) return { problem: 'file_not_found' }
  if (bytes.length === 0) return { problem: 'empty_file' }
  const extension = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const problem = checks.get(extension)?.(bytes)
  const small = bytes.length < (minimumSizes.get(extension) ?? 0)
  return { ...(problem && { problem }), ...(small && { warning: 'file_unusually_small' as const }) }
}

const hasPrefix = (bytes: Uint8Array, magic: readonly number[]) => magic.every((byte, index) => bytes[index] === byte)

function jpegProblem(bytes: Uint8Array): ArtifactProblem | undefined {
  return hasPrefix(bytes, [0xff, 0xd8, 0xff]) ? undefined : 'jpeg_invalid'
}

/** Readers look for the marks within the first and the last kilobyte. */
function isPdf(bytes: Uint8Array): boolean {
  const text = (from: number, to?: number) => Buffer.from(bytes.subarray(from, to)).toString('latin1')
  return text(0, 1024).includes('%PDF-') && text(-1024).includes('%%EOF')
}

const containsEntry = (bytes: Uint8Array, name: string) => zipEntries(bytes)?.some((entry) => entry.name === name) === true

const maxWorkbookBytes = 4 * 1024 * 1024

function workbookProblem(bytes: Uint8Array): ArtifactProblem | undefined {
  const entry = zipEntries(bytes)?.find(({ name }) => name === 'xl/workbook.xml')
  const xml = entry?.read(maxWorkbookBytes)?.toString('utf8')
  if (xml === undefined) return 'xlsx_open_failed'
  const sheets = xml.match(/<(?:\w{1,64}:)?sheet\s[^<>]*>/g) ?? [] // no tag reaches into the next: hostile workbooks have very many
  return sheets.some((sheet) => !/\sstate="(?:hidden|veryHidden)"/.test(sheet)) ? undefined : 'xlsx_no_visible_sheets'
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(bytes).toString('utf8'))
    return true
  } catch {
    return false
  }
}
