import type { Digest, Notice } from '../../core/block/index.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { redact } from '../../core/secrets.ts'
import { inspect } from '../attachments/inspect.ts'
import { defaultAttachmentLimits, isRefusal } from '../attachments/upload.ts'
import { declaresFiles, failed, succeeded } from '../outcome.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { plainLine } from './plain-text.ts'

const MAX_ITEMS = 200
const MAX_FILES = 20
const MAX_NOTICES = 10

/** What the content of a result becomes: lines of the output, files of the turn, and notices about content that is left out. */
interface Content {
  readonly texts: string[]
  readonly artifacts: MadeArtifact[]
  readonly notices: Notice[]
}

/**
 * Makes the outcome of a call from the result that a server has sent. The output is the structured content. If the result has none, the
 * output is its texts. Images, audio and embedded resources become files of the turn.
 */
export async function readResult(result: JsonObject, call: Call): Promise<Outcome> {
  const items: readonly unknown[] = Array.isArray(result.content) ? result.content : []
  const structured = isObject(result.structuredContent) ? (result.structuredContent as JsonObject) : undefined
  if (!Array.isArray(result.content) && !structured && result.isError !== true)
    return failed(
      'mcp_error',
      'The server answered with something that is no result of a tool. Whether the call had an effect is not known.',
    )
  const content: Content = { texts: [], artifacts: [], notices: [] }
  for (const item of items.slice(0, MAX_ITEMS)) await readItem(item, content, call)
  if (items.length > MAX_ITEMS) leftOut(content, `${items.length - MAX_ITEMS} more parts of the result`)
  const { texts, artifacts } = content
  const notices = fewNotices(content.notices)
  const text = texts.join('\n')
  const files = { ...(artifacts.length > 0 && { artifacts }), ...(notices.length > 0 && { notices }) }
  if (result.isError === true) return failed('mcp_error', redact(text) || 'The tool failed and did not say why.', files)
  const output = structured ? structuredOutput(structured) : text
  return succeeded({ ...((output !== '' || artifacts.length === 0) && { output }), ...files })
}

/** A server must not declare files of the workspace, so structured content that declares files is passed on as text. */
const structuredOutput = (structured: JsonObject): Json => (declaresFiles(structured) ? JSON.stringify(structured) : structured)

async function readItem(item: unknown, content: Content, call: Call): Promise<void> {
  if (!isObject(item)) return leftOut(content, 'a part of the result that is no object')
  if (item.type === 'text' && typeof item.text === 'string') content.texts.push(item.text)
  else if (item.type === 'image' || item.type === 'audio') await addFile(item.data, item.mimeType, item.type, content, call)
  else if (item.type === 'resource' && isObject(item.resource)) await readResource(item.resource, content, call)
  else if (item.type === 'resource_link' && typeof item.uri === 'string') content.texts.push(linkText(item))
  else if (typeof item.type === 'string') leftOut(content, `a part of the result of the type ${JSON.stringify(plainLine(item.type, 40))}`)
  else leftOut(content, 'a part of the result without a type')
}

async function readResource(resource: { readonly [key: string]: unknown }, content: Content, call: Call): Promise<void> {
  const { uri, mimeType, text, blob } = resource
  const address = typeof uri === 'string' ? plainLine(uri, 300) : 'a resource'
  if (typeof text === 'string') {
    content.texts.push(`[resource: ${address}]\n${text}`)
    return
  }
  await addFile(blob, mimeType, address, content, call)
}

function linkText({ uri, name, description }: { readonly [key: string]: unknown }): string {
  const about = [name, description].filter((each) => typeof each === 'string' && each !== '').map((each) => plainLine(String(each), 300))
  return `[resource: ${[plainLine(String(uri), 300), ...about].join(' — ')}]`
}

function leftOut({ notices }: Content, what: string): void {
  notices.push({ code: 'tool_call_warning.mcp', message: `Daybook left out ${what}.` })
}

/** Joins equal notices into one, and keeps only the first few notices, so that a result with many wrong parts does not fill the prompt. */
function fewNotices(notices: readonly Notice[]): readonly Notice[] {
  const counts = new Map<string, number>()
  for (const { message } of notices) counts.set(message, (counts.get(message) ?? 0) + 1)
  const messages = [...counts].map(([message, count]) => (count > 1 ? `${message} This happened ${count} times.` : message))
  const more = messages.length - MAX_NOTICES
  const shown = more > 0 ? [...messages.slice(0, MAX_NOTICES), `Daybook left out ${more} more notices about the result.`] : messages
  return shown.map((message) => ({ code: 'tool_call_warning.mcp', message }))
}

/** The types of files that get their usual extension. Any other file is delivered as bytes. */
const extensions: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'application/zip': 'zip',
  'text/csv': 'csv',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'application/json': 'json',
}

/** Stores bytes as a file of the turn. An image or a document is checked like a file that a user attaches, because it may be hostile. */
async function addFile(base64: unknown, mimeType: unknown, what: string, content: Content, call: Call): Promise<void> {
  if (typeof base64 !== 'string' || base64 === '') return leftOut(content, `${what} without content`)
  if (content.artifacts.length >= MAX_FILES) return leftOut(content, `${what}: a result may have at most ${MAX_FILES} files`)
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length === 0) return leftOut(content, `${what}: its content is no base64`)
  const claimed = typeof mimeType === 'string' ? (mimeType.split(';', 1)[0] ?? '').trim().toLowerCase() : ''
  const isChecked = claimed.startsWith('image/') || claimed === 'application/pdf'
  const facts = isChecked ? await inspect({ name: 'file', bytes }, defaultAttachmentLimits, undefined) : { mime: claimed }
  if (isRefusal(facts))
    content.notices.push({
      code: 'tool_call_warning.mcp',
      message: `A file of the result is kept, but you can not see it: it ${facts.words}.`,
    })
  const extension = isRefusal(facts) ? undefined : extensions[facts.mime]
  const mime = isRefusal(facts) || extension === undefined ? 'application/octet-stream' : facts.mime
  content.artifacts.push(await storeFile(bytes, mime, extension ?? 'bin', content.artifacts.length + 1, call))
}

async function storeFile(bytes: Uint8Array, mime: string, extension: string, number: number, call: Call): Promise<MadeArtifact> {
  const { turnId, callId } = call.origin
  const name = `mcp-${callId}-${number}.${extension}`
  const physical = `${turnId}/outputs/${name}`
  const digest: Digest = {
    artifact_path: filePath(turnId, 'outputs', name),
    physical_path: physical,
    mime,
    kind: 'file',
    visibility: 'external',
    size_bytes: bytes.length,
  }
  const { files } = await call.workspace()
  await files.write(physical, bytes)
  return { digest, mime, bytes }
}
