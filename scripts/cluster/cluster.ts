import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../test/support/postgres.ts'
import { startRedis } from '../../test/support/redis.ts'
import { startS3 } from '../../test/support/s3-server.ts'
import { type Front, startFront } from './front.ts'
import { type Replica, type ReplicaRole, startReplica } from './replica.ts'

/** How a cluster is started. */
export interface ClusterOptions {
  /**
   * The roles of the replicas. One replica is started for each role in the list. At least one replica must accept messages, and at least
   * one must run turns.
   */
  readonly roles: readonly ReplicaRole[]
  /** The port of the server in front of the replicas. 0 chooses a free one. */
  readonly port: number
  /** Whether files are stored in a server that is compatible with S3, instead of PostgreSQL. */
  readonly s3: boolean
  /** Whether live events go over Redis, instead of PostgreSQL. */
  readonly redis: boolean
  readonly onLine?: (replica: number, line: string) => void
}

/** A database and replicas on this machine, behind one address. */
export interface Cluster {
  readonly url: string
  readonly replicas: readonly Replica[]
  readonly front: Front
  /** Ends every process and removes all data. */
  stop(): Promise<void>
}

/**
 * Starts PostgreSQL and replicas with the offline model, all in a temporary folder. If one of these processes fails to start, the others
 * are ended.
 */
export async function startCluster({ roles, port, s3, redis, onLine }: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-cluster-'))
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    const postgres = await startPostgres()
    closers.push(() => postgres.stop())
    const bucket = s3 ? await startS3(join(folder, 'bucket')) : undefined
    if (bucket) closers.push(() => bucket.stop())
    const relay = redis ? await startRedis() : undefined
    if (relay) closers.push(() => relay.stop())
    const environment = {
      DAYBOOK_DATABASE_URL: postgres.url,
      DAYBOOK_DATABASE_CONNECTIONS: '5',
      DAYBOOK_MODEL: process.env.DAYBOOK_MODEL ?? 'offline',
      DAYBOOK_STORE: 'sqlite',
      ...(relay && { DAYBOOK_REDIS_URL: relay.url }),
      ...(bucket && {
        DAYBOOK_S3_ENDPOINT: bucket.options.endpoint ?? '',
        DAYBOOK_S3_BUCKET: bucket.options.bucket,
        DAYBOOK_S3_ACCESS_KEY_ID: bucket.options.accessKeyId,
        DAYBOOK_S3_SECRET_ACCESS_KEY: bucket.options.secretAccessKey,
      }),
    }
    const replicas: Replica[] = []
    for (const [index, role] of roles.entries()) {
      const data = { DAYBOOK_DATA: join(folder, `replica-${index + 1}`) }
      const replica = await startReplica(role, { ...environment, ...data }, (line) => onLine?.(index + 1, line))
      replicas.push(replica)
      closers.push(() => replica.end('SIGKILL'))
    }
    const webs = replicas.filter(({ role }) => role !== 'worker')
    const running = () => webs.filter(({ isRunning }) => isRunning).map(({ url }) => url)
    const front = await startFront(() => (running().length > 0 ? running() : webs.map(({ url }) => url)), port)
    closers.push(() => front.close())
    return { url: front.url, replicas, front, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
