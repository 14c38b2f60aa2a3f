import { queryFolder } from '../stores.ts'

/**
 * Records which process has written each row of the journals of a folder. The database itself records this, so no process can hide a row.
 */
export interface JournalWriters {
  /** How many rows were written by a process that did not own the conversation at this moment. */
  staleRows(): Promise<number>
  /** How many rows the journals have, how many sequence numbers are missing between them, and for how many rows no writer was recorded. */
  rows(): Promise<{ readonly count: number; readonly missing: number; readonly unnoted: number }>
}

/*
 * The connections of a load server have the pid of the server as their name. The trigger runs in the transaction that writes the row. It
 * records this pid, and the pid of the owner of the lease.
 */
const NOTE_WRITERS = `
  CREATE TABLE written (conversation bigint, seq integer, writer text, owner_pid bigint);
  CREATE FUNCTION note_writer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO written SELECT NEW.conversation, NEW.seq, current_setting('application_name'), owner_pid
      FROM conversations WHERE key = NEW.conversation;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_writer AFTER INSERT ON journal FOR EACH ROW EXECUTE FUNCTION note_writer()`

/** Starts to record the writers. The tables of the folder have to exist. */
export async function noteWriters(folder: string, database: string): Promise<JournalWriters> {
  await queryFolder(folder, NOTE_WRITERS, database)
  const numbers = async (sql: string) => {
    const [row = {}] = await queryFolder(folder, sql, database)
    return (name: string) => Number(row[name])
  }
  return {
    async staleRows() {
      const value = await numbers(`SELECT count(*) FROM written WHERE writer IS DISTINCT FROM 'daybook: ' || owner_pid`)
      return value('count')
    },
    async rows() {
      const value = await numbers(`
        SELECT coalesce(sum(rows), 0) AS count, coalesce(sum(last - rows), 0) AS missing,
          coalesce(sum(rows), 0) - (SELECT count(DISTINCT (conversation, seq)) FROM written) AS unnoted
        FROM (SELECT count(*) AS rows, max(seq) AS last FROM journal GROUP BY conversation) AS journals`)
      return { count: value('count'), missing: value('missing'), unnoted: value('unnoted') }
    },
  }
}
