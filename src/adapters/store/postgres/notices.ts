import type { Database } from './database.ts'

/** How long to wait before a lost connection is opened again. */
const RECONNECT_MS = 500
/** How often it is checked that notifications still arrive. */
const CHECK_MS = 3_000
/** The checks become rarer up to this time while no notification ever arrives, for example because of a wrong address. */
const MAX_CHECK_MS = 60_000
/** A notification about no conversation. All processes ignore its content. */
const PROBE = '{}'

/**
 * Receives the notifications of a database over a separate connection, from `start` until `stop`. A lost connection is opened again. A
 * network can drop a connection without telling this process. So if no notification has arrived for some seconds, this process sends one to
 * itself. If that one does not arrive either, the connection is replaced. Notifications may be lost meanwhile, so `onOpened` is called for
 * each new connection.
 */
export function createNoticeReceiver(database: Database, onNotice: (payload: string) => void, onOpened: () => void) {
  let connection: ReturnType<Database['listen']> | undefined
  /** Waits for the next attempt to connect, or for the next check. */
  let timer: ReturnType<typeof setTimeout> | undefined
  let hasNotices = false
  let checkMs = CHECK_MS

  function wait(ms: number, then: () => void): void {
    clearTimeout(timer)
    timer = setTimeout(then, ms).unref() // does not keep the process running
  }

  function connect(): void {
    let wasHeard = false // since the last check
    let isProbed = false
    const onLost = () => {
      if (connection !== own) return
      stop()
      wait(RECONNECT_MS, connect)
    }
    const probe = () =>
      database.notify(PROBE).then(
        () => {
          isProbed = true
        },
        () => {}, // says nothing about the connection that listens. The next check sends another one
      )
    const check = () => {
      wait(checkMs, check)
      if (wasHeard) {
        wasHeard = false
        isProbed = false
      } else if (isProbed) {
        checkMs = Math.min(checkMs * 2, MAX_CHECK_MS)
        stop()
        connect()
      } else void probe()
    }
    const own = database.listen((payload) => {
      wasHeard = true
      hasNotices = true
      checkMs = CHECK_MS
      onNotice(payload)
    }, onLost)
    connection = own
    own.then(() => {
      if (connection !== own) return
      void probe()
      wait(checkMs, check)
      onOpened()
    }, onLost)
  }

  function stop(): void {
    clearTimeout(timer)
    hasNotices = false
    void connection?.then(
      (open) => open.close(),
      () => {}, // the connection could not be opened, so there is nothing to close
    )
    connection = undefined
  }

  return {
    /** Whether notifications arrive. False until the first one has arrived over the connection. */
    get hasNotices() {
      return hasNotices
    },
    /** Does nothing if the database can not send notifications to this process. */
    start(): void {
      if (database.canListen) connect()
    },
    stop,
  }
}
