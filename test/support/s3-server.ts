/// <reference path="./s3rver.d.ts" />
import { mkdirSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { S3Options } from '../../src/adapters/hosting/s3-objects.ts'

export interface S3Server {
  readonly options: S3Options
  stop(): Promise<void>
}

export interface S3ServerOptions {
  readonly serviceEndpoint?: string
  isAnswered?(request: IncomingMessage, response: ServerResponse): boolean
}

/**
 * Starts an S3-compatible server on a free port. It checks signatures and ignores conditional headers. It can not send the second page of a
 * listing, so the tests of pages use a server with prepared responses. With `serviceEndpoint`, such as `daybook.test`, the
 * host name of a bucket is `<bucket>.s3.daybook.test`. `isAnswered` may answer a request itself, and then returns true.
 */
export async function startS3(directory: string, { serviceEndpoint, isAnswered }: S3ServerOptions = {}): Promise<S3Server> {
  const { default: S3rver } = await import('s3rver')
  mkdirSync(directory, { recursive: true })
  const bucket = 'daybook-test'
  const configureBuckets = [{ name: bucket }]
  const hosts = { vhostBuckets: serviceEndpoint !== undefined, ...(serviceEndpoint !== undefined && { serviceEndpoint }) }
  const server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory, ...hosts, configureBuckets })
  const { port } = await server.run()
  const [answer] = server.httpServer.listeners('request')
  if (isAnswered)
    server.httpServer.removeAllListeners('request').on('request', (request, response) => {
      if (!isAnswered(request, response)) answer?.(request, response)
    })
  return {
    options: {
      endpoint: `http://${serviceEndpoint === undefined ? '127.0.0.1' : `s3.${serviceEndpoint}`}:${port}`,
      bucket,
      region: 'us-east-1',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
      retryDelayMs: 1,
    },
    async stop() {
      server.httpServer.closeAllConnections() // otherwise `close` would wait for connections that the client keeps open
      await server.close()
    },
  }
}
