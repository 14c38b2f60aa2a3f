/**
 * A process that is killed during slow work after a response of the model. response-crash.test.ts starts it with one of these modes:
 *
 *   hang       runs a turn for each place in slow-turns.ts until it hangs there. Prints a line when all of them hang
 *   recover    resumes these turns. The argument after the mode is the time by which the clock is ahead, in milliseconds
 */
import { writeSync } from 'node:fs'
import { openSlowTurn, type Place, slowTurns } from '../support/crash/slow-turns.ts'

const [folder = '', mode = '', aheadMs = '0'] = process.argv.slice(2)
const places = Object.keys(slowTurns) as Place[]

if (mode === 'recover') {
  for (const place of places) {
    const { agent, store } = await openSlowTurn(folder, place, { aheadMs: Number(aheadMs) })
    await agent.recover()
    await agent.close()
    await store.close()
  }
} else {
  setInterval(() => {}, 60_000) // keeps the process alive, which a pending promise does not
  const hanging = new Set<Place>()
  for (const place of places) {
    const { run } = await openSlowTurn(folder, place, {
      onHang() {
        hanging.add(place)
        if (hanging.size === places.length) writeSync(1, 'all hang\n')
      },
    })
    run().catch((error: unknown) => writeSync(2, `${place}: ${String(error)}\n`))
  }
}
