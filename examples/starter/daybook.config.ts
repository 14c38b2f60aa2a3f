// The settings of every `daybook` command in this folder. `npx daybook config` prints all of them.
export default {
  agent: './agent.ts',
  budget: { rounds: 15 },
}
