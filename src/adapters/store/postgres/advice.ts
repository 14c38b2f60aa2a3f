/** What to do about an error, by its code: a code of PostgreSQL, of the operating system, or of TLS. */
const adviceOf: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'start the server, or check host and port in DAYBOOK_DATABASE_URL',
  ENOTFOUND: 'check the host in DAYBOOK_DATABASE_URL',
  EAI_AGAIN: 'check the host in DAYBOOK_DATABASE_URL, and the name service of this machine',
  EHOSTUNREACH: 'check the host in DAYBOOK_DATABASE_URL, and the network',
  ETIMEDOUT: 'check host and port in DAYBOOK_DATABASE_URL, and the firewall',
  '28P01': 'check user and password in DAYBOOK_DATABASE_URL',
  '28000': 'check the user in DAYBOOK_DATABASE_URL, and the rules in pg_hba.conf of the server',
  '3D000': 'create the database (createdb), or check its name in DAYBOOK_DATABASE_URL',
  '42501': 'grant the user the right to create schemas in this database, or all rights on the schema daybook',
  '53300': 'lower the setting databaseConnections, or raise max_connections of the server',
  '57014': 'the statement was cancelled: raise statement_timeout of the server or the role, or find out what the server is busy with',
  '55P03': 'another transaction holds a lock for too long: raise lock_timeout of the server or the role, or find this transaction',
  '25P03': 'raise idle_in_transaction_session_timeout of the server or the role: a transaction may wait for the blob store',
  '25P04': 'raise transaction_timeout of the server or the role',
  '25006': 'this server can only be read: use the address of the primary server',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'add sslrootcert=<file of the certificate authority> to DAYBOOK_DATABASE_URL',
  SELF_SIGNED_CERT_IN_CHAIN: 'add sslrootcert=<file of the certificate authority> to DAYBOOK_DATABASE_URL',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'add sslrootcert=<file of the certificate authority> to DAYBOOK_DATABASE_URL',
  ERR_TLS_CERT_ALTNAME_INVALID: 'use the host name in DAYBOOK_DATABASE_URL that is in the certificate of the server',
}

/** Advice for errors that have no code, or share their code with other errors. These errors are recognised by a part of their message. */
const adviceOfMessage: readonly (readonly [part: string, advice: string])[] = [
  ['no encryption', 'the server wants an encrypted connection: add sslmode=require to DAYBOOK_DATABASE_URL'],
  ['does not support SSL', 'the server has no encryption: remove sslmode from DAYBOOK_DATABASE_URL'],
  ['password must be a string', 'the server wants a password: add it to DAYBOOK_DATABASE_URL'],
  ['timeout exceeded', 'the server does not answer, or all connections are in use: check the address, or raise databaseConnections'],
  ['statement pooling mode', 'the pooler ends connections after each statement: set pool_mode = transaction or session in the pooler'],
  ['prepared statement', 'if a pooler is between Daybook and the server, set databasePrepare=off'],
]

/** What a user can do about an error of a connection. Undefined for other errors. */
export function connectionAdvice(error: unknown): string | undefined {
  const { code = '', message = '' } = (error ?? {}) as { readonly code?: string; readonly message?: string }
  const found = adviceOfMessage.find(([part]) => message.includes(part))
  return found?.[1] ?? (Object.hasOwn(adviceOf, code) ? adviceOf[code] : undefined)
}
