/** One message of the tour, and what a person can see meanwhile. */
export interface TourStep {
  readonly explanation: string
  readonly message: string
  readonly files?: readonly { readonly name: string; readonly content: string }[]
  /** `beside`: the message is sent while the turn of the step before still runs. */
  readonly when: 'after' | 'beside'
}

const orders = `order,city,item,price
1,Bergen,Grinder,189.90
2,Oslo,Kettle,49.50
3,Oslo,Grinder,179.00
4,Bergen,Scale,39.00
5,Tromsø,Kettle,54.00
6,Oslo,Scale,42.50
`

const notes = `# The shop in autumn

Sales of grinders rose in September, after the price was lowered in Oslo.
Bergen had the largest single order of the season.
Customers in Tromsø asked for faster delivery. The warehouse answers that the ferry is the limit.
`

/** The conversation of the tour. The offline model answers it, so it needs no key and no network. */
export const tourSteps: readonly TourStep[] = [
  {
    explanation: 'Two files are attached. The agent makes a plan, reads them, writes a report and cites its sources.',
    message: 'Write a report about all files.',
    files: [
      { name: 'orders.csv', content: orders },
      { name: 'notes.md', content: notes },
    ],
    when: 'after',
  },
  {
    explanation:
      'A question about the table. The answer names the rows that it used. Where programs can run, the agent computes it with one.',
    message: 'What is the total price in Oslo?',
    when: 'after',
  },
  {
    explanation: 'A message that is sent while the agent works is read as soon as possible, without losing anything.',
    message: 'Which item is the cheapest?',
    when: 'beside',
  },
  {
    explanation: 'The agent can quote a document, with the line. Point at a number to see the source.',
    message: 'What did the warehouse answer about the ferry?',
    when: 'after',
  },
]
