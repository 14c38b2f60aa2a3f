import type { Queries } from '../database.ts'
import { fillTitles } from '../titles.ts'
import { firstVersion } from './first-version.ts'
import { memoryTables } from './memory-tables.ts'

/** One version of the schema. */
export interface Migration {
  readonly sql: string
  /** Fills new tables from the rows that exist. */
  fill?(queries: Queries): Promise<void>
  /** The oldest version of the code that can work with the tables after this step. */
  readonly compatibleFrom: number
}

/**
 * The steps of the schema, one per version. A released step is never changed. A new version adds a step. The tables are the same as those
 * of the SQLite store, which docs/format.md describes, except for these columns:
 *
 * - A row of `journal` has the key (conversation, seq).
 * - `title` and `open_turn` are JSON texts, because PostgreSQL can not store the character U+0000.
 * - The progress of the memory index is in tables of its own. See `memory-tables.ts`.
 */
export const migrations: readonly Migration[] = [
  firstVersion,
  {
    // `put_at` is the time at which a blob was last put. It is used to find old blobs to which no entry refers.
    compatibleFrom: 1,
    sql: `ALTER TABLE blobs ADD COLUMN put_at timestamptz NOT NULL DEFAULT now();`,
  },
  {
    // `active_at` is the time of the last entry while a turn runs, so that most appends change no column of an index. `titles` is the index
    // for a search of titles. Older code writes neither of them.
    compatibleFrom: 3,
    sql: `
  ALTER TABLE conversations ADD COLUMN active_at text COLLATE "C";
  CREATE TABLE titles (
    conversation bigint PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
    grams integer[] NOT NULL
  );
  CREATE INDEX titles_by_gram ON titles USING gin (grams) WITH (fastupdate = off);
  `,
    fill: fillTitles,
  },
  {
    compatibleFrom: 3,
    sql: `
  CREATE TABLE schedules (
    conversation bigint NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    schedule text COLLATE "C" NOT NULL,
    body text NOT NULL,
    every bigint,
    next_at text COLLATE "C",
    fired integer NOT NULL DEFAULT 0,
    fired_at text COLLATE "C",
    removed integer NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation, schedule)
  );
  CREATE INDEX schedules_by_time ON schedules (next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX schedules_by_last_time ON schedules (fired_at) WHERE next_at IS NOT NULL AND fired_at IS NOT NULL;
  `,
  },
  {
    // The work list. `free_at` is a computed column. It has the time from which the conversation can be claimed, or null when the
    // conversation has no work, is parked, or belongs to a sub-agent. Older code does not write the other columns. It claims a parked
    // conversation when a message arrives, and it does not count attempts.
    compatibleFrom: 3,
    sql: `
  ALTER TABLE conversations
    ADD COLUMN attempts integer NOT NULL DEFAULT 0,
    ADD COLUMN attempt_seq integer,
    ADD COLUMN retry_at text COLLATE "C",
    ADD COLUMN parked_at text COLLATE "C",
    ADD COLUMN failure text,
    ADD COLUMN offered_at text COLLATE "C";
  ALTER TABLE conversations
    ADD COLUMN tenant text COLLATE "C" GENERATED ALWAYS AS (
      CASE WHEN length(id) - length(replace(id, '/', '')) = 3 THEN split_part(id, '/', 1) ELSE '' END
    ) STORED,
    ADD COLUMN free_at text COLLATE "C" GENERATED ALWAYS AS (
      CASE WHEN deleted_at IS NULL AND parked_at IS NULL AND strpos(substring(id from '[^/]*$'), '~call_') = 0
        AND CASE WHEN offers IS NOT NULL THEN true WHEN waits IS NOT NULL THEN due_at IS NOT NULL ELSE open_turn IS NOT NULL OR waiting IS NOT NULL END
      THEN greatest(
        CASE WHEN offers IS NOT NULL THEN offered_at WHEN waits IS NOT NULL THEN due_at END COLLATE "C",
        lease_expires_at COLLATE "C", retry_at, ''
      ) END
    ) STORED;
  CREATE INDEX conversations_to_claim ON conversations (tenant, free_at) WHERE free_at IS NOT NULL;
  CREATE INDEX conversations_by_claim_time ON conversations (free_at) WHERE free_at IS NOT NULL;
  CREATE INDEX conversations_parked ON conversations (last_activity_at DESC, id) WHERE deleted_at IS NULL AND parked_at IS NOT NULL;
  CREATE TABLE tenants (tenant text COLLATE "C" PRIMARY KEY, last_served bigint NOT NULL);
  `,
  },
  {
    // The receipts of deletions, in the same form as in the SQLite store.
    compatibleFrom: 3,
    sql: `
  CREATE TABLE receipts (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    receipt text NOT NULL UNIQUE,
    subject text NOT NULL,
    started_at text NOT NULL,
    finished_at text
  );
  CREATE UNIQUE INDEX receipts_unfinished ON receipts (subject) WHERE finished_at IS NULL;
  CREATE INDEX receipts_by_subject ON receipts (subject, number);
  CREATE TABLE receipt_counts (receipt text NOT NULL, name text NOT NULL, count bigint NOT NULL, PRIMARY KEY (receipt, name));
  CREATE TABLE receipt_conversations (
    conversation bigint PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
    receipt text NOT NULL,
    files_counted boolean NOT NULL DEFAULT false
  );
  CREATE INDEX receipt_conversations_by_receipt ON receipt_conversations (receipt);
  CREATE TABLE receipt_blobs (receipt text NOT NULL, sha256 text NOT NULL, PRIMARY KEY (receipt, sha256));
  `,
  },
  {
    // Budgets. Older code does not add the cost of its turns to them.
    compatibleFrom: 3,
    sql: `
  CREATE TABLE budgets (
    name text COLLATE "C" PRIMARY KEY,
    limits text,
    extra_tokens bigint NOT NULL DEFAULT 0,
    extra_micros bigint NOT NULL DEFAULT 0,
    spent_tokens bigint NOT NULL DEFAULT 0,
    spent_micros bigint NOT NULL DEFAULT 0,
    reserved_tokens bigint NOT NULL DEFAULT 0,
    reserved_micros bigint NOT NULL DEFAULT 0,
    day text
  ) WITH (fillfactor = 50);
  CREATE INDEX budgets_with_limits ON budgets (name) WHERE limits IS NOT NULL;
  CREATE TABLE reservations (
    name text COLLATE "C" NOT NULL REFERENCES budgets (name) ON DELETE CASCADE,
    conversation bigint NOT NULL,
    slot text NOT NULL,
    epoch bigint NOT NULL,
    tokens bigint NOT NULL,
    micros bigint NOT NULL,
    PRIMARY KEY (name, conversation, slot)
  );
  CREATE INDEX reservations_by_conversation ON reservations (conversation, slot);
  `,
  },
  {
    // The rate limits: how many requests and messages each user may still send. Each process of older code counts them for itself.
    compatibleFrom: 3,
    sql: `
  CREATE UNLOGGED TABLE rate_limits (
    name bytea PRIMARY KEY,
    tokens double precision NOT NULL,
    burst double precision NOT NULL,
    per_second double precision NOT NULL,
    at timestamptz NOT NULL
  ) WITH (fillfactor = 50);
  `,
  },
  {
    // An index of the turns that a dead process has left open. It finds them fast, even if many messages wait.
    compatibleFrom: 3,
    sql: `
  CREATE INDEX conversations_interrupted ON conversations (tenant, free_at)
    WHERE free_at IS NOT NULL AND open_turn IS NOT NULL AND waits IS NULL;
  `,
  },
  {
    // Triggers replace generated columns and foreign keys, because an append has to be fast. For each statement that updates a table,
    // PostgreSQL parses the expressions of all its generated columns, even if none of them changes. With foreign keys, it also looked up
    // the conversation for each new row of `blocks` and `names`, although the transaction had already locked the row of the conversation.
    compatibleFrom: 3,
    sql: `
  ALTER TABLE conversations
    ALTER COLUMN folder DROP EXPRESSION, ALTER COLUMN tenant DROP EXPRESSION,
    ALTER COLUMN work_at DROP EXPRESSION, ALTER COLUMN free_at DROP EXPRESSION;
  CREATE FUNCTION compute_columns() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'INSERT' OR NEW.id <> OLD.id THEN
      NEW.folder := coalesce(substring(NEW.id from '^.*/'), '');
      NEW.tenant := CASE WHEN length(NEW.id) - length(replace(NEW.id, '/', '')) = 3 THEN split_part(NEW.id, '/', 1) ELSE '' END;
    END IF;
    NEW.work_at := CASE WHEN NEW.offers IS NOT NULL THEN '' WHEN NEW.waits IS NOT NULL THEN NEW.due_at
      WHEN NEW.open_turn IS NOT NULL OR NEW.waiting IS NOT NULL THEN '' END;
    NEW.free_at := CASE WHEN NEW.work_at IS NOT NULL AND NEW.deleted_at IS NULL AND NEW.parked_at IS NULL
      AND strpos(substring(NEW.id from '[^/]*$'), '~call_') = 0
      THEN greatest(
        CASE WHEN NEW.offers IS NOT NULL THEN NEW.offered_at WHEN NEW.waits IS NOT NULL THEN NEW.due_at END COLLATE "C",
        NEW.lease_expires_at COLLATE "C", NEW.retry_at, ''
      ) END;
    RETURN NEW;
  END $$;
  CREATE TRIGGER compute_columns BEFORE INSERT OR UPDATE OF
    id, offers, offered_at, waits, due_at, open_turn, waiting, lease_expires_at, retry_at, parked_at, deleted_at
    ON conversations FOR EACH ROW EXECUTE FUNCTION compute_columns();

  ALTER TABLE blocks DROP CONSTRAINT blocks_conversation_fkey;
  ALTER TABLE names DROP CONSTRAINT names_conversation_fkey;
  CREATE FUNCTION remove_index() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE format('DELETE FROM %I.blocks WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key;
    EXECUTE format('DELETE FROM %I.names WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key;
    RETURN NULL;
  END $$;
  CREATE TRIGGER remove_index AFTER DELETE ON conversations FOR EACH ROW EXECUTE FUNCTION remove_index();
  `,
  },
  {
    // Every unique index of the tables that grow with the entries has the column `conversation`, so that an administrator can partition
    // these tables by it. `conversations` is locked first, as in transactions that use both tables. A later step needs this lock anyway.
    compatibleFrom: 3,
    sql: `
  LOCK TABLE conversations IN SHARE ROW EXCLUSIVE MODE;
  ALTER TABLE offers DROP CONSTRAINT offers_pkey, ADD PRIMARY KEY (conversation, number);
  `,
  },
  memoryTables,
]

export const SCHEMA_VERSION = migrations.length
