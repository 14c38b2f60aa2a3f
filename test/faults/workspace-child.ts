/** A process that repeats a checkout or a publish until it is killed. Prints a line after each. */
import { contentsOf, type Kind, openWorkspaceFolder } from './workspace-on-disk.ts'

const [folder = '', kind = 'custom', operation = 'checkout'] = process.argv.slice(2)
const { workspace, history, publish, turns } = await openWorkspaceFolder(folder, kind as Kind)

if (operation === 'checkout') {
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
