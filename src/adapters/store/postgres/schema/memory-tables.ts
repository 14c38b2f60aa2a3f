import type { Migration } from './schema.ts'

/**
 * The memory index. `docs/format.md` describes the tables. Appends do not write the progress of the index, so they never wait for it:
 *
 * - `memory_progress` has the last entry of each conversation that is in the index.
 * - `memory_behind` has a row for each append that began, ended or changed a turn, and whose entries may not be in the index. A trigger
 *   writes the rows, so that appends of older code are indexed too. An append that only goes on with a running turn writes no row: the row
 *   of the beginning of the turn stays until the turn has ended.
 *
 * Older code does not remove snippets. So if a deleted conversation still has snippets, the trigger on `conversations` removes the whole
 * index of its owner, because the postings do not tell which conversation they are from. The owner's other conversations are indexed again.
 */
export const memoryTables: Migration = {
  compatibleFrom: 3,
  sql: `
  CREATE TABLE memory_owners (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    folder text COLLATE "C" NOT NULL UNIQUE,
    next integer NOT NULL,
    snippets integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE TABLE memory_snippets (
    owner bigint NOT NULL,
    number integer NOT NULL,
    conversation bigint NOT NULL,
    block bigint NOT NULL,
    part integer NOT NULL,
    seq integer NOT NULL,
    turn text NOT NULL,
    role text NOT NULL,
    ts text NOT NULL,
    path text NOT NULL,
    body text NOT NULL,
    vector bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, number)
  );
  CREATE UNIQUE INDEX memory_snippets_by_block ON memory_snippets (conversation, block, part);
  CREATE INDEX memory_snippets_by_vector ON memory_snippets (vector, owner, number);
  CREATE TABLE memory_documents (
    owner bigint NOT NULL,
    "group" integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, "group")
  ) WITH (fillfactor = 70);
  CREATE TABLE memory_postings (
    owner bigint NOT NULL,
    term bigint NOT NULL,
    chunk integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, term, chunk)
  ) WITH (fillfactor = 80);
  CREATE TABLE memory_turns (
    conversation bigint NOT NULL,
    turn_hash bytea NOT NULL,
    turn text COLLATE "C" NOT NULL,
    seq integer NOT NULL,
    uses integer NOT NULL,
    PRIMARY KEY (conversation, turn_hash)
  );
  CREATE INDEX memory_turns_in_order ON memory_turns (conversation, seq);
  CREATE TABLE memory_models (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    dimensions integer NOT NULL
  );
  CREATE TABLE memory_vectors (
    owner bigint NOT NULL,
    number integer NOT NULL,
    model bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, number)
  );
  ALTER TABLE memory_vectors ALTER COLUMN body SET STORAGE EXTERNAL;
  CREATE TABLE memory_progress (
    conversation bigint PRIMARY KEY,
    seq integer NOT NULL
  ) WITH (fillfactor = 70);
  CREATE TABLE memory_behind (
    folder text COLLATE "C" NOT NULL,
    conversation bigint NOT NULL,
    seq integer NOT NULL,
    PRIMARY KEY (folder, conversation, seq)
  );

  CREATE FUNCTION note_behind() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_TABLE_SCHEMA = current_schema() THEN -- the plan of this statement is kept, which is faster
      INSERT INTO memory_behind VALUES (NEW.folder, NEW.key, NEW.last_seq) ON CONFLICT DO NOTHING;
    ELSE
      EXECUTE format('INSERT INTO %I.memory_behind VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', TG_TABLE_SCHEMA)
        USING NEW.folder, NEW.key, NEW.last_seq;
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_behind AFTER UPDATE OF open_turn ON conversations
    FOR EACH ROW WHEN (NEW.last_seq <> OLD.last_seq) EXECUTE FUNCTION note_behind();
  CREATE TRIGGER note_new_behind AFTER INSERT ON conversations
    FOR EACH ROW WHEN (NEW.last_seq > 0) EXECUTE FUNCTION note_behind();
  INSERT INTO memory_behind SELECT folder, key, last_seq FROM conversations WHERE last_seq > 0;

  CREATE OR REPLACE FUNCTION remove_index() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE dropped bigint;
  BEGIN
    -- the lock of 'lockFolder': an older version deletes without this lock, perhaps while a newer version indexes the conversation
    PERFORM pg_advisory_xact_lock(('x' || encode(substring(sha256(convert_to('memory index ' || f, 'UTF8')) for 8), 'hex'))::bit(64)::bigint)
      FROM (VALUES (OLD.folder), (OLD.id)) AS locked (f);
    EXECUTE format('DELETE FROM %I.blocks WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key;
    EXECUTE format('DELETE FROM %I.names WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key;
    EXECUTE format('DELETE FROM %I.memory_behind WHERE folder = $1 AND conversation = $2', TG_TABLE_SCHEMA) USING OLD.folder, OLD.key;
    EXECUTE format('DELETE FROM %I.memory_progress WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key;
    EXECUTE format('DELETE FROM %I.memory_turns WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key;
    FOR dropped IN EXECUTE format('SELECT DISTINCT owner FROM %I.memory_snippets WHERE conversation = $1', TG_TABLE_SCHEMA) USING OLD.key LOOP
      EXECUTE format('INSERT INTO %1$I.memory_behind SELECT folder, key, last_seq FROM %1$I.conversations
        WHERE key IN (SELECT conversation FROM %1$I.memory_snippets WHERE owner = $1) ON CONFLICT DO NOTHING', TG_TABLE_SCHEMA) USING dropped;
      EXECUTE format('DELETE FROM %1$I.memory_progress
        WHERE conversation IN (SELECT conversation FROM %1$I.memory_snippets WHERE owner = $1)', TG_TABLE_SCHEMA) USING dropped;
      -- in order, and before the vectors, because a process that saves vectors locks the rows of their snippets in order
      EXECUTE format('DELETE FROM %1$I.memory_snippets WHERE owner = $1 AND number IN
        (SELECT number FROM %1$I.memory_snippets WHERE owner = $1 ORDER BY number FOR UPDATE)', TG_TABLE_SCHEMA) USING dropped;
      EXECUTE format('DELETE FROM %I.memory_vectors WHERE owner = $1', TG_TABLE_SCHEMA) USING dropped;
      EXECUTE format('DELETE FROM %I.memory_documents WHERE owner = $1', TG_TABLE_SCHEMA) USING dropped;
      EXECUTE format('DELETE FROM %I.memory_postings WHERE owner = $1', TG_TABLE_SCHEMA) USING dropped;
      EXECUTE format('DELETE FROM %I.memory_owners WHERE key = $1', TG_TABLE_SCHEMA) USING dropped;
    END LOOP;
    RETURN NULL;
  END $$;
  `,
}
