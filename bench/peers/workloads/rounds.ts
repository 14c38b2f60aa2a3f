import { addingScript, type PeerModule } from '../script.ts'
import { cpuTime, type Measured } from './measured.ts'

const rounds = 50

export async function measure(module: PeerModule, { isQuick }: { readonly isQuick: boolean }): Promise<Measured> {
  const peer = await module.open({ script: addingScript(rounds) })
  let turns = 0
  const turn = async () => {
    let characters = 0
    await peer.turn(`c${turns++}`, 'Add up.', (text) => {
      characters += text.length
    })
    if (characters === 0) throw new Error('the stream had no text')
  }
  const cold = ((await cpuTime(turn)) * 1000) / rounds
  const budget = isQuick ? 300 : 1_500
  for (let spent = 0; spent < budget; ) spent += await cpuTime(turn)
  let [spent, count] = [0, 0]
  for (; spent < budget; count++) spent += await cpuTime(turn)
  const hot = (spent * 1000) / (count * rounds)
  await peer.close()
  return { cold, hot }
}
