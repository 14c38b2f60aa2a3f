import { setTimeout as sleep } from 'node:timers/promises'
import { addingScript, type PeerModule } from '../script.ts'
import type { Measured } from './measured.ts'

export async function measure(module: PeerModule, { isQuick }: { readonly isQuick: boolean }): Promise<Measured> {
  const names = Array.from({ length: isQuick ? 20 : 200 }, (_, index) => `c${index}`)
  const peer = await module.open({ script: addingScript(10, { beforeResponse: () => sleep(5) }) })
  let total = Number.POSITIVE_INFINITY
  for (let take = 0; take < 3; take++) {
    const started = performance.now()
    await Promise.all(names.map((name) => peer.turn(`${take}${name}`, 'Add up.')))
    total = Math.min(total, performance.now() - started)
  }
  await peer.close()
  return { total }
}
