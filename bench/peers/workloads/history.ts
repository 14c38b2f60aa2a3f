import { addingScript, type PeerModule } from '../script.ts'
import { cpuTime, type Measured } from './measured.ts'

const rounds = 3
/** After this time a slow framework runs no further turn. */
const longestMs = 5_000

export async function measure(module: PeerModule, { isQuick }: { readonly isQuick: boolean }): Promise<Measured> {
  let requests = 0
  const peer = await module.open({ script: addingScript(rounds, { beforeResponse: () => void requests++ }) })
  await peer.seed('c', isQuick ? 500 : 5_000)
  let round = Number.POSITIVE_INFINITY
  let total = 0
  for (let turn = 0; turn < 5 && total < longestMs; turn++) {
    requests = 0
    const spent = await cpuTime(() => peer.turn('c', 'Add up.'))
    if (requests < rounds) throw new Error(`the model was asked ${requests} times`)
    total += spent
    round = Math.min(round, spent / rounds)
  }
  await peer.close()
  return { round }
}
