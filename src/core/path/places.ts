const roots = 'home|Users|root|tmp|var|opt|srv|etc|usr|mnt|private|work|workspace|app|data'

// Only under roots that disks have: `/v1/items` is a route, and what follows `https:/` is an address.
const absolutePaths = new RegExp(`(?<![\\w/:.~-])(?:file://)?(?:[A-Za-z]:[\\\\/]|/(?:${roots})/)[^\\s'"\`<>|*?:,;()]*`, 'g')

/** The text with each absolute path cut to its last part: `open '/home/me/x.txt'` says `open 'x.txt'`. Where it lay is nobody's business. */
export function stripAbsolutePaths(text: string): string {
  return text.replace(absolutePaths, (place) => place.split(/[\\/]/).findLast((part) => part !== '') ?? '')
}
