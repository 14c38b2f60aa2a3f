/**
 * Requests pages of the web. The addresses come from a model or from a page, so every one of them may be hostile. A fetcher refuses
 * addresses that lead into a private network, and it limits size and time.
 */
export interface Fetcher {
  /**
   * Does not throw when the request fails: the result then describes the failure. It throws only when `signal` is aborted, with the reason
   * of the signal.
   */
  get(url: string, options: FetchOptions): Promise<FetchResult>
}

/** Options of `Fetcher.get`. */
export interface FetchOptions {
  readonly signal: AbortSignal
  /** The value of the header `Accept`. */
  readonly accept?: string
}

/** The result of a request: a response, or the reason why there is no response. */
export type FetchResult = FetchedResponse | FetchFailure

/** A response with any status code. */
export interface FetchedResponse {
  readonly ok: true
  readonly status: number
  /** The address that the response came from, after all redirects. */
  readonly url: string
  /** The media type without parameters, in lower case. Empty if the response does not name one. */
  readonly mime: string
  readonly charset: string | undefined
  /** The header `Last-Modified`. */
  readonly lastModified: string | undefined
  readonly bytes: Uint8Array
}

/** A request without a response. */
export interface FetchFailure {
  readonly ok: false
  readonly reason: FetchProblem
  /** One sentence for the model. It names no address of a private network. */
  readonly message: string
}

/**
 * Why there is no response. `refused`: the guard does not allow this address. `robots`: the `robots.txt` of the site forbids the address to
 * programs. `too_large`: the body is larger than the limit, or expands too much. `failed`: the connection or the protocol failed.
 */
export type FetchProblem = 'refused' | 'robots' | 'timeout' | 'too_large' | 'failed'

/** Finds the readable text of an HTML page. The page may be hostile: a reader limits time and memory. */
export interface PageReader {
  /** Throws a `Failure` with the code `document.unreadable` when the page can not be read. */
  read(html: Uint8Array, options: PageOptions): Promise<PageText>
}

/** Options of `PageReader.read`. */
export interface PageOptions {
  /** The address of the page. Relative links are resolved with it. */
  readonly url: string
  /** The encoding that the HTTP header names. The page itself may name another. */
  readonly charset?: string | undefined
  /** The user for whom the page is read, as `userKey` returns it. A reader may use it to share its capacity fairly between users. */
  readonly user?: string
  /** The longest text that is wanted, in characters. Default: 400,000. */
  readonly maxText?: number
}

/** The text of a page, and facts about it. */
export interface PageText {
  readonly title: string
  /** The main text as Markdown. */
  readonly markdown: string
  /** Present if the text was longer than `maxText` and its end is missing. */
  readonly isCut?: true
  readonly published?: PageDate
  readonly modified?: PageDate
  readonly favicon?: string
  /** True when the page says that its text is only for subscribers. */
  readonly paywalled: boolean
}

/** A date that a page names. */
export interface PageDate {
  /** ISO 8601 in UTC. */
  readonly iso: string
  /** Where on the page the date was found. */
  readonly method: 'json-ld' | 'meta' | 'time-element'
  /** How certain the date is, from 0 to 1. */
  readonly confidence: number
}

/** Searches the web with one search service. */
export interface SearchProvider {
  readonly name: string
  /** When two services return the same page, the texts of the service with the higher authority are used. */
  readonly authority: number
  /** Throws a `SearchFailure` when the service can not be used. */
  search(request: SearchRequest, signal: AbortSignal): Promise<readonly SearchHit[]>
}

/** One query for a search service. */
export interface SearchRequest {
  readonly query: string
  /** How many results are wanted. A service may return fewer or more. */
  readonly count: number
  readonly freshness?: Freshness
  /** An ISO 3166 code of two letters, in upper case. */
  readonly country?: string
  readonly safesearch: SafeSearch
}

/** How old a page may be at most. */
export type Freshness = 'day' | 'week' | 'month' | 'year'
/** How strictly a search service leaves out pages for adults. */
export type SafeSearch = 'off' | 'moderate' | 'strict'

/** One result of a search service. The texts are plain text without markup. */
export interface SearchHit {
  readonly url: string
  readonly title: string
  readonly text: string
  /** How well the page fits the query, from 0 to 1, if the service says so. */
  readonly score?: number
  /** ISO 8601 in UTC. */
  readonly published?: string
  readonly favicon?: string
}

/** Why a search service gave no results. */
export type SearchProblem = 'key' | 'rate_limit' | 'unavailable' | 'malformed'

/** The error of a search service. Its message names the service and contains no key. */
export class SearchFailure extends Error {
  override readonly name = 'SearchFailure'
  readonly problem: SearchProblem
  /** How long to wait before the next request, if the service says so. */
  readonly retryAfterSeconds: number | undefined

  constructor(problem: SearchProblem, message: string, options: { readonly retryAfterSeconds?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.problem = problem
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
