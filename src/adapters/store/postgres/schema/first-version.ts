import type { Migration } from './schema.ts'

/** The tables of the first version of the schema. This version was released, so this file is never changed. */
export const firstVersion: Migration = {
  compatibleFrom: 1,
  sql: `
  CREATE SEQUENCE claims;

  CREATE TABLE conversations (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    title text,
    started_at text,
    last_activity_at text COLLATE "C" NOT NULL DEFAULT '',
    open_turn text,
    waiting text,
    offers integer,
    waits text,
    due_at text COLLATE "C",
    last_seq integer NOT NULL DEFAULT 0,
    indexed_seq integer NOT NULL DEFAULT 0,
    next_block bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL,
    owner_id text,
    owner_host text,
    owner_pid bigint,
    owner_started_at text,
    owner_boot_id text,
    owner_pid_ns text,
    owner_epoch bigint,
    lease_expires_at text,
    deleted_at text,
    folder text COLLATE "C" GENERATED ALWAYS AS (coalesce(substring(id from '^.*/'), '')) STORED,
    work_at text COLLATE "C" GENERATED ALWAYS AS (
      CASE WHEN offers IS NOT NULL THEN '' WHEN waits IS NOT NULL THEN due_at WHEN open_turn IS NOT NULL OR waiting IS NOT NULL THEN '' END
    ) STORED
  ) WITH (fillfactor = 70);
  CREATE INDEX conversations_by_activity ON conversations (last_activity_at DESC, id) WHERE deleted_at IS NULL;
  CREATE INDEX conversations_by_folder ON conversations (folder, last_activity_at DESC, id) WHERE deleted_at IS NULL;
  CREATE INDEX conversations_with_work ON conversations (work_at) WHERE deleted_at IS NULL AND work_at IS NOT NULL;
  CREATE INDEX conversations_waiting ON conversations (last_activity_at DESC, id) WHERE deleted_at IS NULL AND waits IS NOT NULL;
  CREATE INDEX conversations_offered ON conversations (id) WHERE offers IS NOT NULL;
  CREATE INDEX conversations_deleted ON conversations (id) WHERE deleted_at IS NOT NULL;

  CREATE TABLE journal (
    conversation bigint NOT NULL,
    seq integer NOT NULL,
    type text NOT NULL,
    ts text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (conversation, seq)
  );

  CREATE TABLE sources (
    conversation bigint NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    seq integer NOT NULL,
    PRIMARY KEY (conversation, seq)
  );
  CREATE TABLE blocks (
    conversation bigint NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    number bigint NOT NULL,
    seq integer NOT NULL,
    PRIMARY KEY (conversation, number)
  );
  CREATE INDEX blocks_by_seq ON blocks (conversation, seq);
  CREATE TABLE names (
    conversation bigint NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    kind text NOT NULL,
    name_hash bytea NOT NULL,
    seq integer NOT NULL,
    PRIMARY KEY (conversation, kind, name_hash, seq)
  );
  CREATE TABLE frames (
    conversation bigint PRIMARY KEY REFERENCES conversations (key) ON DELETE CASCADE,
    seq integer NOT NULL,
    body text NOT NULL
  );

  CREATE TABLE blob_refs (
    conversation bigint NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    seq bigint NOT NULL,
    sha256 text NOT NULL,
    PRIMARY KEY (conversation, seq, sha256)
  );
  CREATE INDEX blob_refs_by_hash ON blob_refs (sha256);
  CREATE TABLE unreferenced_blobs (sha256 text PRIMARY KEY);

  CREATE TABLE offers (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
    event_hash bytea NOT NULL,
    body text NOT NULL,
    outcome text,
    taken_at text,
    UNIQUE (conversation, event_hash)
  );
  CREATE INDEX offers_not_taken ON offers (conversation, number) WHERE outcome IS NULL;

  CREATE TABLE blobs (
    sha256 text NOT NULL,
    part integer NOT NULL,
    size bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (sha256, part)
  );
  ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;

  CREATE TABLE objects (key text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);
  `,
}
