// Measures, in a new process, the import of the package with a store and a scripted model, until an agent is created.
import { argumentsOf, give, namedTimes, startTime, timeSince } from './measured.ts'

const { of } = argumentsOf<{ of: 'daybook' | 'floor' | 'ai' }>()
const started = startTime()
if (of === 'daybook') {
  const { createAgent, openStore } = await import('daybook')
  const { reply, scriptedModel } = await import('daybook/testing')
  const store = await openStore({ data: 'not used', store: 'memory' })
  createAgent({ model: scriptedModel([reply.answer('Yes.')]), store })
} else if (of === 'ai') {
  await import('ai')
} else await import('./nothing.ts')
give(namedTimes({ ms: timeSince(started) }))
