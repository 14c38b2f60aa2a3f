import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAgent, defineTool, openStore, succeeded } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'

// A tool that finds pages returns them as sources. Answers and documents can then cite them.
const search = defineTool({
  id: 'library.search',
  description: 'Searches the library.',
  params: z.object({ query: z.string() }),
  readOnly: true,
  run: () =>
    succeeded({
      output: 'Rain fell on 12 days in May [[S:1]].',
      sources: [{ sid: 1, title: 'Weather in May', url: 'https://weather.example/may', text: 'Rain fell on 12 days in May.' }],
    }),
})

const report = `# Rain in May

Rain fell on 12 days [[S:1]].

\`\`\`chart bar Days with rain
| month | days |
|---|---|
| April | 9 |
| May | 12 |
\`\`\`
`

const model = scriptedModel([
  reply.call('library.search', { query: 'rain in May' }),
  reply.call('rendering_tools.write_pdf', { path: 'files/rain.pdf', content: report }),
  reply.answer('The report is ready. Rain fell on 12 days in May [[S:1]].'),
])

const folder = await mkdtemp(join(tmpdir(), 'daybook-example-'))
const agent = createAgent({ model, tools: [search], store: await openStore({ data: folder }) })

const result = await agent.run('rain', 'Write a report about the rain in May.').result
console.log(result.answer)
for (const { sid, title, url } of result.sources) console.log(sid, title, url)
for (const { filename, mime } of result.files) console.log(filename, mime)

await agent.close()
await rm(folder, { recursive: true })
