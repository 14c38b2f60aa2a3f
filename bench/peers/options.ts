import { peers, workloads } from './catalog.ts'

/** The options of `npm run bench:peers`. */
export interface Options {
  readonly workloads: readonly string[]
  readonly peers: readonly string[]
  /** Smaller workloads and one run of each. Use this to try out the bench. The numbers are not precise enough to publish. */
  readonly isQuick: boolean
  /** Whether to use the packages that are already installed. */
  readonly skipsInstall: boolean
}

export const usage = `npm run bench:peers [-- --only WORKLOAD … --peer NAME … --quick --installed]

  --only WORKLOAD   ${workloads.map(({ name }) => name).join(', ')}
  --peer NAME       ${peers.map(({ name }) => name).join(', ')}
  --quick           small workloads, one run of each
  --installed       measures the packages that are installed already

Each workload writes its section of bench/peers/results.md. A run with --quick or --peer only prints.`

/** Reads the arguments of the command line. Throws a `RangeError` with a message for the user if they are wrong. */
export function parseOptions(args: readonly string[]): Options {
  const [chosenWorkloads, chosenPeers]: [string[], string[]] = [[], []]
  let [isQuick, skipsInstall] = [false, false]
  for (let index = 0; index < args.length; index++) {
    const argument = args[index]
    if (argument === '--quick') isQuick = true
    else if (argument === '--installed') skipsInstall = true
    else if (argument === '--only') chosenWorkloads.push(nameAfter(args, index++, workloads))
    else if (argument === '--peer') chosenPeers.push(nameAfter(args, index++, peers))
    else throw new RangeError(`There is no option ${argument}.`)
  }
  return {
    workloads: chosenWorkloads.length > 0 ? chosenWorkloads : workloads.map(({ name }) => name),
    peers: chosenPeers.length > 0 ? chosenPeers : peers.map(({ name }) => name),
    isQuick,
    skipsInstall,
  }
}

function nameAfter(args: readonly string[], index: number, known: readonly { readonly name: string }[]): string {
  const name = args[index + 1]
  if (known.some((each) => each.name === name)) return name as string
  throw new RangeError(
    `${args[index]} needs one of ${known.map((each) => each.name).join(', ')}${name === undefined ? '' : `, not ${name}`}.`,
  )
}
