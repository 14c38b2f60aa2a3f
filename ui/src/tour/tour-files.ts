export const orders = `order,city,item,price
1,Bergen,Grinder,189.90
2,Oslo,Kettle,49.50
3,Oslo,Grinder,179.00
4,Bergen,Scale,39.00
5,Tromsø,Kettle,54.00
6,Oslo,Scale,42.50
`

export const notes = `# The shop in autumn

Sales of grinders rose in September, after the price was lowered in Oslo.
Bergen had the largest single order of the season.
Customers in Tromsø asked for faster delivery. The warehouse answers that the ferry is the limit.
`

const subjects = ['Opening hours', 'Stock', 'Deliveries', 'Cleaning', 'Invoices', 'Staff', 'Windows', 'Keys'] as const
const cities = ['Bergen', 'Oslo', 'Tromsø', 'Bodø', 'Stavanger', 'Ålesund'] as const
const sections = 420

/** A text that is too long to be read at once, so that the agent has to search it. */
export function handbook(): string {
  const section = (number: number) =>
    `## ${number}. ${subjects[number % subjects.length]} in ${cities[number % cities.length]}\n\nThe shop looks after this on day ${(number % 28) + 1} of the month. The person on duty writes the result into the list and signs it.\n`
  const returns =
    '## Returns\n\nA grinder that was opened can be returned within 30 days, if it is clean and the receipt is there. Kettles are exchanged, not refunded.\n'
  const all = Array.from({ length: sections }, (_, index) => section(index + 1))
  return `# Handbook of the shop\n\n${all.toSpliced(300, 0, returns).join('\n')}`
}
