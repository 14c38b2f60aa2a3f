// The package `daybook/adapters/web`: guarded requests to the web, and search services.

export { type Fetcher, SearchFailure, type SearchProvider } from '../../ports/web.ts'
export { createFetcher, type FetcherOptions } from './fetcher.ts'
export type { GuardOptions, Resolve } from './guard.ts'
export type { TimeLimits } from './request.ts'
export { type Environment, searchProvidersFrom } from './search/from-keys.ts'
export { createSearchProvider, type SearchServiceName, type SearchServiceOptions } from './search/services.ts'
