import { buildPage } from '../../../scripts/build-page.ts'

/** Builds the page before the tests, unless it is up to date. The server serves it, and the browser tests use it. */
export default async function setup(): Promise<void> {
  await buildPage()
}
