/**
 * Gives different URLs of one page the same spelling: `HTTPS://Example.COM/a/?utm_source=x&b=2#f` becomes `https://example.com/a?b=2`.
 * Parameters keep their order. A port stays if it is not the default of the scheme. A text that is not a URL is only trimmed.
 */
export function normalizeUrl(text: string): string {
  const trimmed = text.trim()
  const absolute = withScheme(trimmed)
  if (absolute === undefined || !URL.canParse(absolute)) return trimmed
  const url = new URL(absolute)
  const user = url.username === '' && url.password === '' ? '' : `${url.username}${url.password === '' ? '' : `:${url.password}`}@`
  return `${url.protocol}//${user}${url.host.toLowerCase()}${normalizePath(url.pathname)}${normalizeQuery(url.search)}`
}

const tracking = new Set(['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'utm_id', 'gclid', 'fbclid'])
const hierarchical = /^[a-z][a-z0-9+.-]*:\/\//i
const opaque = /^[a-z][a-z0-9+.-]*:(?!\d)/i // matches `mailto:a@b.c` but not the host and port `localhost:8080`

function withScheme(text: string): string | undefined {
  if (hierarchical.test(text)) return text
  if (text === '' || opaque.test(text)) return undefined
  return text.startsWith('//') ? `https:${text}` : `https://${text}`
}

function normalizePath(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end-- // a regular expression would take quadratic time on many slashes
  return end === 0 ? '/' : path.slice(0, end)
}

function normalizeQuery(search: string): string {
  const parameters = search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !tracking.has((parameter.split('=', 1)[0] ?? '').toLowerCase()))
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`
}
