import { addingScript, chunksOf, type PeerModule } from '../script.ts'
import { cpuTime, type Measured } from './measured.ts'

/** After this time a slow framework streams no further answer. */
const longestMs = 5_000

export async function measure(module: PeerModule, { isQuick }: { readonly isQuick: boolean }): Promise<Measured> {
  const size = isQuick ? 100_000 : 1_000_000
  const chunks = chunksOf('A line of an answer that goes on for a long time.\n'.repeat(size / 50))
  const peer = await module.open({ script: addingScript(1, { respond: () => ({ chunks, calls: [] }) }) })
  let best = Number.POSITIVE_INFINITY
  let total = 0
  for (let take = 0; take < 3 && total < longestMs; take++) {
    let characters = 0
    const spent = await cpuTime(() =>
      peer.turn(`c${take}`, 'Write.', (text) => {
        characters += text.length
      }),
    )
    total += spent
    best = Math.min(best, spent)
    if (characters < size) throw new Error(`the stream had ${characters} of ${size} characters`)
  }
  await peer.close()
  return { chunk: (best * 1000) / chunks.length }
}
