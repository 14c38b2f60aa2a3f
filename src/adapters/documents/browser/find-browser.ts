import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** The names of the browsers that can make PDF and PNG files. They are all built on Chromium. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/** Places that are usually not in `PATH`. */
const places = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium']

/** The path of the browser to use. `wanted` is a path, or the name of a program in `PATH`. Undefined when no browser is found. */
export function findBrowser(wanted?: string): string | undefined {
  if (wanted !== undefined) return isAbsolute(wanted) ? [wanted].find(isExecutable) : inPath([wanted])
  return inPath(names) ?? places.find(isExecutable)
}

function inPath(candidates: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const name of candidates) {
    const found = folders.map((folder) => join(folder, name)).find(isExecutable)
    if (found !== undefined) return found
  }
  return undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // missing, or not a program
  }
}
