/** A source that may be cited, and the file it stands for. */
export interface CitableSource {
  readonly sid: number
  readonly title: string
  readonly mime: string
  readonly place: string
}

const sourceLine = /^SID:(\d+) {2}"(.*)" {2,}(\S+) {2}(.+?) {2}~[\d.]+K? tok$/

/** The rows of SOURCES POOL; none when the part is something else. */
export function parseSources(text: string): readonly CitableSource[] {
  if (!/^━+\n SOURCES POOL {2}\(/.test(text)) return []
  return text.split('\n').flatMap((line) => {
    const [, sid, title = '', mime = '', place = ''] = sourceLine.exec(line) ?? []
    return sid === undefined ? [] : [{ sid: Number(sid), title: title.trim(), mime, place }]
  })
}

/** Long addresses are shown cut. */
export function sidOf(path: string, sources: readonly CitableSource[]): number | undefined {
  return sources.find(({ place }) => place === path || (place.endsWith('…') && path.startsWith(place.slice(0, -1))))?.sid
}
