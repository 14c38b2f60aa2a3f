/** Does one thing again and again until it is killed: checks out, or publishes. Says a line for each time. */
import { contentsOf, type Kind, openWorkspaceFolder } from './workspace-machine.ts'

const [folder = '', kind = 'custom', what = 'checkout'] = process.argv.slice(2)
const { workspace, history, publish, turns } = await openWorkspaceFolder(folder, kind as Kind)

if (what === 'checkout') {
  await workspace.startTurn('turn_c')
  for (let n = 0; ; n++) {
    const mode = n % 3 === 2 ? 'overlay' : 'replace'
    const outcome = await workspace.checkout('turn_c', { mode, sources: [{ turnId: n % 2 === 0 ? 'turn_a' : 'turn_b', rel: '' }] }, history)
    if (!outcome.ok) throw new Error(JSON.stringify(outcome))
    console.log(n)
  }
} else {
  for (let n = turns().length; ; n++) {
    const turnId = `turn_${String(n).padStart(4, '0')}`
    await workspace.startTurn(turnId)
    await workspace.files.replaceFolder(`${turnId}/files`, contentsOf(turnId))
    await publish(turnId)
    console.log(n)
  }
}
