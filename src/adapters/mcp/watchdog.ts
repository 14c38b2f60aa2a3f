import { spawn } from 'node:child_process'

/**
 * Waits for the end of its input, which ends when Daybook ends, even if Daybook is killed. Then the server has two seconds to notice the
 * end of its own input, before its process group is killed. If the input is the line `ended`, the server has already ended, and nothing is
 * killed.
 */
const script = 'read -r line; [ "$line" = ended ] && exit; sleep 2; kill -s KILL -- "-$1"'

/**
 * Starts a small process that ends a server if Daybook is killed, together with the processes that the server has started. Otherwise a
 * server that does not read its input would run forever. Returns a function to call when the server has ended.
 */
export function watchGroup(group: number): () => void {
  if (process.platform === 'win32') return () => {} // Windows has no process groups
  const watchdog = spawn('/bin/sh', ['-c', script, 'sh', String(group)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    cwd: '/',
    detached: true, // a signal from the terminal must not end the watchdog
  })
  watchdog.on('error', () => {}) // a machine without a shell has no watchdog
  watchdog.stdin.on('error', () => {})
  watchdog.unref()
  return () => void watchdog.stdin.end('ended\n')
}
