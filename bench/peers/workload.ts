// One run of one workload with one framework, in a process of its own: `node workload.ts WORKLOAD PEER`. The last printed line has the
// measured values. `serve` and `die` are the second processes of the workloads `http` and `kill`.

import { join } from 'node:path'
import type { PeerModule } from './script.ts'
import type { Measured } from './workloads/measured.ts'

const [workload = '', name = '', option] = process.argv.slice(2)
const folder = join(import.meta.dirname, name)
const module = (await import(join(folder, 'peer.mjs'))) as PeerModule

if (workload === 'serve') {
  const { serve } = await import('./workloads/http.ts')
  await serve(module, option as string)
} else if (workload === 'die') {
  const { die } = await import('./workloads/kill.ts')
  await die(module, option as string)
} else {
  const { measure } = (await import(`./workloads/${workload}.ts`)) as {
    measure(module: PeerModule, options: { name: string; folder: string; isQuick: boolean }): Promise<Measured>
  }
  const measured = await measure(module, { name, folder, isQuick: option === '--quick' })
  console.log(JSON.stringify(measured))
  process.exit(0) // some frameworks have timers that would keep the process running
}
