import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A user and a group of this machine. */
export interface Identity {
  readonly uid: number
  readonly gid: number
}

/** The first of 2^24 user ids that no distribution gives to users, services or containers. */
const firstUid = 0x70000000
/**
 * The user for the programs of all conversations in a container that does not have the user ids from `firstUid` on. On Linux this user owns
 * no files.
 */
const userWithoutFiles: Identity = { uid: 65534, gid: 65534 }

/**
 * The user that runs a program, if this process runs as root. Otherwise the result is undefined, and programs run as the user of this
 * process. Programs of different conversations get different users, so that even a program that broke out of its sandbox could not touch
 * the processes and files of other conversations. `work` is the folder of the conversation.
 */
export function identityOf(work: string): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined
  const uid = firstUid + createHash('sha256').update(work).digest().readUIntBE(0, 3)
  return isMapped(uid) ? { uid, gid: uid } : userWithoutFiles
}

/** Whether a user id can be used here. False in a container to which this user id is not mapped. */
function isMapped(id: number): boolean {
  return ['/proc/self/uid_map', '/proc/self/gid_map'].every((file) =>
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) =>
        line
          .split(' ')
          .filter((field) => field !== '')
          .map(Number),
      )
      .some(([first = 0, , length = 0]) => id >= first && id < first + length),
  )
}
