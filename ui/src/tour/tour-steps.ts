import { handbook, notes, orders } from './tour-files.ts'

/** One message of the tour, and a text about what the person sees while the agent answers. */
export interface TourStep {
  readonly explanation: string
  readonly message: string
  readonly files?: readonly { readonly name: string; readonly content: string }[]
  /** Tools whose calls wait for the person. If the person does not decide, the tour approves the call. */
  readonly ask?: readonly string[]
  /** A second message that redirects the agent while it still works on the first message. */
  readonly steer?: string
}

/** The conversation of the tour. The offline model answers its messages, so the tour needs no key and no network. */
export const tourSteps = (): readonly TourStep[] => [
  {
    explanation: 'Two files are attached. The agent makes a plan, reads them, writes a report and cites its sources.',
    message: 'Write a report about all files.',
    files: [
      { name: 'orders.csv', content: orders },
      { name: 'notes.md', content: notes },
    ],
  },
  {
    explanation: 'The attached handbook is too long to read at once. The agent searches it, and quotes the line that answers the question.',
    message: 'May a customer return an opened grinder?',
    files: [{ name: 'handbook.md', content: handbook() }],
  },
  {
    explanation:
      'If programs can run on this machine, the agent computes the chart with a program. This time it has to ask before it writes a file: read what it would write, and press Approve. If you do not decide, the tour approves it after a few seconds.',
    message: 'Draw a chart of the total price by city.',
    files: [{ name: 'autumn.csv', content: orders }],
    ask: ['react.write'],
  },
  {
    explanation: 'You can redirect the agent while it works. It stops what it does and reads the new message at once.',
    message: 'Write a summary of all files.',
    steer: 'What did the warehouse answer about the ferry?',
  },
]
