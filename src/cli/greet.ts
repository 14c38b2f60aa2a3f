import type { Settings } from '../config.ts'
import { openStore } from '../wiring.ts'

/** What it is, where its data is, and what to type next. */
export async function greet(settings: Settings, version: string): Promise<void> {
  const store = await openStore(settings)
  try {
    const { conversations, next } = await store.list({ limit: 100 })
    const count = next === undefined ? String(conversations.length) : 'more than 100'
    console.log(`daybook ${version} on Node ${process.versions.node}`)
    console.log('A timeline-native agent runtime: everything is entered once, in order, and every other view is derived from it.')
    console.log(`\ndata            ${settings.data}`)
    console.log(`conversations   ${count}`)
    console.log('\nnext            daybook import <file>   daybook list   daybook export <conversation>   daybook --help')
  } finally {
    await store.close()
  }
}
