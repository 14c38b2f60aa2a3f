// The web globals that `core` may use. All are pure. Only tsconfig.core.json includes this file.
interface URLSearchParams extends Iterable<[string, string]> {
  toString(): string
}
declare const URLSearchParams: { new (init?: string | readonly (readonly [string, string])[]): URLSearchParams }

interface URL {
  protocol: string
  hostname: string
  port: string
  host: string
  username: string
  password: string
  pathname: string
  search: string
  hash: string
  readonly href: string
  readonly searchParams: URLSearchParams
}
declare const URL: { new (url: string, base?: string): URL; canParse(url: string, base?: string): boolean }

interface TextEncoder {
  encode(text: string): Uint8Array
}
declare const TextEncoder: { new (): TextEncoder }
