const tracking = new Set(['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'utm_id', 'gclid', 'fbclid'])

/**
 * One spelling per page: `HTTPS://Example.COM/a/?utm_source=x&b=2#f` is `https://example.com/a?b=2`.
 * Ports other than the scheme's own are kept, parameters keep their order, and what is no URL is only trimmed.
 */
export function normalizeUrl(text: string): string {
  const trimmed = text.trim()
  const absolute = withScheme(trimmed)
  if (absolute === undefined || !URL.canParse(absolute)) return trimmed
  const url = new URL(absolute)
  const user = url.username === '' && url.password === '' ? '' : `${url.username}${url.password === '' ? '' : `:${url.password}`}@`
  return `${url.protocol}//${user}${url.host.toLowerCase()}${normalizePath(url.pathname)}${normalizeQuery(url.search)}`
}

const hierarchical = /^[a-z][a-z0-9+.-]*:\/\//i
const opaque = /^[a-z][a-z0-9+.-]*:(?!\d)/i // `mailto:a@b.c`; but `localhost:8080` is a host

function withScheme(text: string): string | undefined {
  if (hierarchical.test(text)) return text
  if (text === '' || opaque.test(text)) return undefined
  return text.startsWith('//') ? `https:${text}` : `https://${text}`
}

function normalizePath(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end-- // an expression for this would be quadratic on a run of slashes
  return end === 0 ? '/' : path.slice(0, end)
}

function normalizeQuery(search: string): string {
  const kept = search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !tracking.has((parameter.split('=', 1)[0] ?? '').toLowerCase()))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}
