// A graph of a model and a tool, with the PostgreSQL checkpointer of LangGraph.js. The model is a function, so only the runtime is measured.

import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { measure, randomText } from './measure.mjs'

const input = JSON.parse(process.argv[2])
const { url, rounds, thought, result } = input
const checkpointer = PostgresSaver.fromConnString(url)
await checkpointer.setup()

let count = 0
const model = () => {
  count = (count + 1) % rounds
  if (count === 0) return { messages: [new AIMessage('Done.')] }
  return {
    messages: [new AIMessage({ content: randomText(thought), tool_calls: [{ id: `call_${count}`, name: 'more', args: { n: count } }] })],
  }
}
const tool = ({ messages }) => {
  const [{ id, args }] = messages.at(-1).tool_calls
  return { messages: [new ToolMessage({ tool_call_id: id, content: JSON.stringify({ n: args.n, text: randomText(result) }) })] }
}
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', model)
  .addNode('tool', tool)
  .addEdge(START, 'model')
  .addConditionalEdges('model', ({ messages }) => (messages.at(-1).tool_calls?.length ? 'tool' : END))
  .addEdge('tool', 'model')
  .compile({ checkpointer })

const config = { configurable: { thread_id: 'c' }, recursionLimit: 1_000, durability: 'sync' }
await measure(input, () => graph.invoke({ messages: [new HumanMessage('List.')] }, config))
