/** The headers of every response, unless its route sets another value. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'x-dns-prefetch-control': 'off',
}

/** The Content-Security-Policy of JSON and other data. A browser that shows the data runs no script and loads no other file. */
export const dataPolicy = "default-src 'none'; frame-ancestors 'none'"

/** The Content-Security-Policy of files from users and from the agent, whose content is not trusted. */
export const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"

/**
 * The Content-Security-Policy of the page. The page loads everything from the server itself. Pictures of files are `blob:` addresses,
 * because files are fetched with a token. The only frame is the viewer.
 */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * The Content-Security-Policy of the viewer, in which the page shows content that is not trusted. `sandbox` gives it an origin of its own,
 * so that it has no access to the page. The content itself is in a frame without scripts, which has the same policy.
 */
export const viewerPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "form-action 'none'",
  "base-uri 'none'",
  'sandbox allow-scripts',
  "frame-ancestors 'self'",
].join('; ')
