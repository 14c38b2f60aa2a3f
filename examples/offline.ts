import { createAgent } from 'daybook'

// The offline model needs no key and no network. It answers from the files that you attach, with quotes and sources.
const agent = createAgent({ model: 'offline' })

const orders = `order,city,item,price
1,Bergen,Grinder,189.90
2,Oslo,Kettle,49.50
3,Oslo,Grinder,179.00
`
const attachments = [{ name: 'orders.csv', content: orders }]

const first = await agent.run('shop', 'What is the total price in Oslo?', { attachments }).result
console.log(first.answer)

const second = await agent.run('shop', 'Which item is the cheapest?').result
console.log(`\n${second.answer}`)

await agent.close()
