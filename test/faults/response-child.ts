/**
 * A process that is killed while something slow happens after a response. Started by response-crash.test.ts:
 *
 *   hang       runs the turn of each place until it hangs, and prints a line when all hang
 *   recover    resumes the turns. The second argument is the time by which the clock is ahead, in milliseconds
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
  setInterval(() => {}, 60_000) // a pending promise does not keep the process alive
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
