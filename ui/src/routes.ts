/** The path under which the page is mounted, without a slash at the end. The files of the page are in the folder `page` below it. */
export const basePath = new URL(import.meta.env.DEV ? '/' : '..', import.meta.url).pathname.replace(/\/$/, '')

export const conversationPath = (id: string) => `/c/${encodeURIComponent(id)}`
