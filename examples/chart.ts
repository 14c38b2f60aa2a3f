import { createAgent } from 'daybook'
import { findSandbox } from 'daybook/adapters/sandbox'
import { reply, scriptedModel } from 'daybook/testing'

const { sandbox } = await findSandbox()
if (!sandbox) {
  console.log('This machine can not isolate programs, so the agent runs none. `npx daybook doctor` says what to install.')
  process.exit(0)
}

// The program that the model writes: it reads the attachment, and draws a bar for each city.
const program = `
import csv, glob

path = glob.glob("**/orders.csv", recursive=True)[0]
totals = {}
for row in csv.DictReader(open(path)):
    totals[row["city"]] = totals.get(row["city"], 0) + float(row["price"])

bars = "".join(
    f'<rect x="10" y="{30 * n}" width="{total}" height="20"/><text x="{total + 20}" y="{30 * n + 15}">{city}</text>'
    for n, (city, total) in enumerate(sorted(totals.items()))
)
with open("files/chart.svg", "w") as chart:
    chart.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="100">{bars}</svg>')
print(totals)
`

const model = scriptedModel([
  reply.call(
    'exec_tools.execute_code_python',
    { contract: [{ filename: 'files/chart.svg', description: 'the price of the orders by city', visibility: 'external' }] },
    { code: program },
  ),
  reply.answer('The chart shows the orders by city.'),
])

const agent = createAgent({ model, sandbox })
const orders = 'order,city,price\n1,Bergen,189.90\n2,Oslo,49.50\n3,Oslo,179.00\n'
const turn = agent.run('orders', 'Draw the orders by city.', { attachments: [{ name: 'orders.csv', content: orders }] })

for await (const event of turn) {
  if (event.type !== 'entry' || event.change.type !== 'blocks.appended') continue
  for (const { path = '', text = '' } of event.change.blocks) if (path.endsWith('chart.svg') && text.startsWith('<svg')) console.log(text)
}
const { answer } = await turn.result
console.log(answer)
await agent.close()
