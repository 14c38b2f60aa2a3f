import type { App } from './handler.ts'

/** Which methods a path is known by. */
export type MethodLookup = (path: string) => ReadonlySet<string>

/** Asked before anything else of a request is looked at: what is not there is not read. */
export function createMethodLookup(app: Pick<App, 'routes'>): MethodLookup {
  const known = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, shape: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}$`) }))
  return (path) =>
    new Set(known.filter(({ shape }) => shape.test(path)).flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
}
