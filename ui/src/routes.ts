/** The path under which the page is mounted, without a slash at the end. The files of the page are in the folder `page` below it. */
export const basePath = new URL(import.meta.env.DEV ? '/' : '..', import.meta.url).pathname.replace(/\/$/, '')

export const conversationPath = (id: string) => `/c/${encodeURIComponent(id)}`

/** The screens for operators, in the order of their tabs. */
export const inspectScreens = ['timeline', 'prompt', 'cost', 'sources', 'effects', 'replay'] as const
export type InspectScreen = (typeof inspectScreens)[number]

export const isInspectScreen = (name: string): name is InspectScreen => inspectScreens.some((screen) => screen === name)
export const inspectPath = (id: string, screen: InspectScreen) => `${conversationPath(id)}/${screen}`
/** The address of the timeline, scrolled to a block. */
export const timelinePath = (id: string, block: string) => `${inspectPath(id, 'timeline')}?block=${encodeURIComponent(block)}`
/** The prompt of a round. */
export const promptPath = (id: string, turn: string, round: number) => `${inspectPath(id, 'prompt')}/${encodeURIComponent(turn)}/${round}`
