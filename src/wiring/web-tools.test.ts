import { expect, it } from 'vitest'
import { z } from 'zod'
import { searchServiceNames } from '../adapters/web/search/services.ts'
import { effectiveSettings, environmentLayer, fileLayer } from '../config/config.ts'
import type { Settings } from '../config/settings.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { defineTool } from '../tools/define.ts'
import { openAgent } from './open-agent.ts'
import { checkWebSearch, openWebTools } from './web-tools.ts'

const settingsFrom = (environment: Readonly<Record<string, string>>): Settings =>
  effectiveSettings([environmentLayer(environment)]).settings
const documents = { pdf: async () => ({ pages: 0, text: [] }) }

async function idsWith(
  variables: Readonly<Record<string, string>>,
  keys: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const web = await openWebTools(settingsFrom(variables), { documents, model: scriptedModel([]), environment: keys, own: [] })
  await web.close()
  return web.tools.map(({ id }) => id)
}

it('an agent has a web tool only if the tool can be used', async () => {
  const key = { EXA_API_KEY: 'k' }
  expect(await idsWith({})).toEqual([])
  expect(await idsWith({ DAYBOOK_WEB_FETCH: 'on' })).toEqual(['web_tools.web_fetch'])
  expect(await idsWith({}, key)).toEqual(['web_tools.web_search'])
  expect(await idsWith({ DAYBOOK_WEB_FETCH: 'on' }, key)).toEqual(['web_tools.web_search', 'web_tools.web_fetch'])
  expect(await idsWith({ DAYBOOK_WEB_SEARCH: 'off' }, key)).toEqual([])
})

it('a chosen service without a key gives an error of one line', async () => {
  const expected = 'web search with Tavily needs a key: set TAVILY_API_KEY, or choose another service with DAYBOOK_WEB_SEARCH'
  await expect(idsWith({ DAYBOOK_WEB_SEARCH: 'tavily' }, { EXA_API_KEY: 'k' })).rejects.toThrow(expected)
  expect(checkWebSearch(settingsFrom({ DAYBOOK_WEB_SEARCH: 'tavily' }), {})).toEqual({ ok: false, found: 'no key', advice: expected })
})

it('every search service can be chosen', () => {
  for (const name of searchServiceNames) expect(settingsFrom({ DAYBOOK_WEB_SEARCH: name }).web.search).toBe(name)
  expect(() => settingsFrom({ DAYBOOK_WEB_SEARCH: 'gopher' })).toThrow('web.search (DAYBOOK_WEB_SEARCH)')
})

it('the settings of a file may be in a group, and an invalid host is refused', async () => {
  const { settings } = effectiveSettings([fileLayer('daybook.config.ts', { web: { fetch: 'on', allow: 'wiki.example, not a host' } })])
  const opening = openWebTools(settings, { documents, model: scriptedModel([]), environment: {}, own: [] })
  await expect(opening).rejects.toThrow('not a host is not a host, an IP address or a range')
})

it('an agent calls the tools', async () => {
  const model = scriptedModel([reply.call('web_tools.web_fetch', { urls: ['http://127.0.0.1/'] }), reply.answer('Refused.')])
  const settings = { ...settingsFrom({ DAYBOOK_STORE: 'memory', DAYBOOK_WEB_FETCH: 'on' }), model }
  const { agent, close } = await openAgent(settings, { environment: {} })
  expect((await agent.run('c1', 'Read it.').result).answer).toBe('Refused.')
  expect(JSON.stringify(model.requests.at(-1)?.parts)).toContain('the address does not lead to the public internet')
  await close()
})

it('a tool of the application with the same id is used instead', async () => {
  const own = defineTool({ id: 'web_tools.web_fetch', description: 'Mine.', params: z.object({}), run: () => 'my own page' })
  const model = scriptedModel([reply.call('web_tools.web_fetch', {}), reply.answer('Read.')])
  const settings = { ...settingsFrom({ DAYBOOK_STORE: 'memory', DAYBOOK_WEB_FETCH: 'on' }), model }
  const { agent, close } = await openAgent(settings, { environment: {}, tools: [own] })
  await agent.run('c1', 'Read it.').result
  expect(JSON.stringify(model.requests.at(-1)?.parts)).toContain('my own page')
  await close()
})
