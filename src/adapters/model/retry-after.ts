import { isObject } from '../../core/json.ts'

/** When a provider wants to be asked again, in seconds from now: by its headers, or by Google's note in the body of an error. */
export function retryAfterSeconds(headers: Readonly<Record<string, string>> | undefined, body: unknown, now: number): number | undefined {
  const milliseconds = parseNonNegative(headers?.['retry-after-ms'])
  if (milliseconds !== undefined) return milliseconds / 1000
  const said = headers?.['retry-after']
  if (said !== undefined) return parseNonNegative(said) ?? (/[a-z]/i.test(said) ? secondsUntil(Date.parse(said), now) : undefined)
  return googleDelay(body)
}

function parseNonNegative(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

const secondsUntil = (moment: number, now: number) => (Number.isNaN(moment) ? undefined : Math.max(0, (moment - now) / 1000))

/** `{error: {details: [{'@type': '…RetryInfo', retryDelay: '37s'}]}}` */
function googleDelay(body: unknown): number | undefined {
  const error = isObject(body) && isObject(body.error) ? body.error : body
  const details = isObject(error) && Array.isArray(error.details) ? error.details : []
  for (const detail of details) {
    const delay = isObject(detail) && typeof detail.retryDelay === 'string' ? /^([\d.]+)s$/.exec(detail.retryDelay)?.[1] : undefined
    if (delay !== undefined) return parseNonNegative(delay)
  }
  return undefined
}
