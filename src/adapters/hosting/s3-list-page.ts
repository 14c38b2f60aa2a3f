import { Failure } from '../../core/failure.ts'

/** One answer to ListObjectsV2. S3 is asked to percent-encode keys, since XML can not hold every character; not every server does. */
export function parseListPage(xml: string): { readonly keys: readonly string[]; readonly next: string | undefined } {
  if (!xml.includes('<ListBucketResult')) throw new Failure('hosting.failed', 'S3 answered a listing with something else')
  const isEncoded = elementOf('EncodingType', xml) === 'url'
  const keys = [...xml.matchAll(/<Contents>[\s\S]*?<Key>([\s\S]*?)<\/Key>/g)].map(([, key = '']) => decodeText(key))
  const isCut = elementOf('IsTruncated', xml) === 'true'
  const next = elementOf('NextContinuationToken', xml)
  if (isCut && next === undefined) throw new Failure('hosting.failed', 'S3 cut a listing short and did not say how to go on')
  return { keys: isEncoded ? keys.map(decodeKey) : keys, next: isCut ? next : undefined }
}

function elementOf(tag: string, xml: string): string | undefined {
  const [, text] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(xml) ?? []
  return text === undefined ? undefined : decodeText(text)
}

const xmlEntities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function decodeText(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(lt|gt|quot|apos|amp));/gi, (_, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return xmlEntities[name.toLowerCase()] ?? ''
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
  })
}

/** As in a form: a space may be written as `+`. */
const decodeKey = (key: string) => decodeURIComponent(key.replaceAll('+', ' '))
