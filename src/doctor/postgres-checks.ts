import { counted } from '../domain/counted.js';
import { instantFromMillis } from '../domain/instant.js';
import { shellWord } from '../domain/shell-word.js';
import { sqlName } from '../domain/sql-name.js';
import type { Clock } from '../runtime/clock.js';
import { schemaPath } from '../runtime/package-root.js';
import { isSharedProcessGone } from '../runtime/process-identity.js';
import { locationText, type PostgresLocation, secretUrlOf } from '../store/database-location.js';
import {
  inspectServer,
  leaseHolders,
  type Pooler,
  type ServerReport,
} from '../store/dialect/postgres/inspect.js';
import { appliedMigrations } from '../store/dialect/postgres/migrate.js';
import { openPostgres, type PostgresDatabase } from '../store/dialect/postgres/open.js';
import { pendingMigrations, shippedMigrations } from '../store/migrate.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';
import type { DatabaseFindings } from './database-checks.js';

const names = [
  'database.schema',
  'database.rights',
  'database.roles',
  'database.connections',
  'database.pooler',
  'database.durability',
  'database.log',
  'database.holders',
];

/** The most connections one daemon opens: its pool, the receiver's pool and readers. */
const connectionsWanted = 15;

/** How long one check waits for a lock of another transaction. */
export const lockMillisMax = 5_000;

/** Checks the server as the configured user. */
export async function postgresChecks(place: PostgresLocation, clock: Clock): Promise<DatabaseFindings> {
  const shown = locationText(place);
  const unusable = (error: unknown): DatabaseFindings => ({
    checks: [
      failedBy('database.server', error, 'rosterd config show'),
      ...names.map((name) => skip(name, 'there is no usable database')),
    ],
    usable: false,
  });
  let opened: PostgresDatabase;
  try {
    opened = await openPostgres(await secretUrlOf(place), {
      max: 2,
      applicationName: 'rosterd-doctor',
      lockTimeoutMs: lockMillisMax,
    });
  } catch (error) {
    return unusable(error);
  }
  try {
    const report = await inspectServer(opened);
    const schema = await schemaCheck(opened);
    return {
      checks: [
        pass('database.server', `${shown} is PostgreSQL ${report.version}; connected as ${report.user}`),
        schema.check,
        rightsCheck(report),
        rolesCheck(report),
        connectionsCheck(report),
        poolerCheck(report.pooler),
        durabilityCheck(report),
        logCheck(report),
        await holdersCheck(opened, clock),
      ],
      usable: schema.current,
    };
  } catch (error) {
    return unusable(error);
  } finally {
    await opened.close();
  }
}

async function schemaCheck(
  database: PostgresDatabase,
): Promise<{ readonly check: Check; readonly current: boolean }> {
  const name = 'database.schema';
  try {
    const shipped = shippedMigrations('postgres');
    const applied = await appliedMigrations(database);
    const { length } = pendingMigrations(shipped, applied);
    if (length === 0)
      return {
        check: pass(name, `schema ${shipped.length} in ${database.schema}, the newest this version knows`),
        current: true,
      };
    const what =
      applied.length === 0
        ? `${database.schema} holds no mirror yet; the first start makes it`
        : `${counted(length, 'migration')} to be run by the next start`;
    return { check: warn(name, what, 'rosterd sync'), current: false };
  } catch (error) {
    return { check: failedBy(name, error, 'npm ci'), current: false };
  }
}

function rightsCheck({
  mayCreate,
  unwritable,
  missing,
  standby,
  readOnly,
  user,
  schema,
}: ServerReport): Check {
  const name = 'database.rights';
  if (standby)
    return fail(name, 'the server is a standby, which takes no writes', 'name the primary under "database"');
  if (readOnly)
    return fail(
      name,
      `the transactions of ${user} are read-only: default_transaction_read_only is on`,
      `ALTER ROLE ${sqlName(user)} SET default_transaction_read_only = off`,
    );
  if (unwritable.length > 0)
    return fail(
      name,
      `${user} may not write ${unwritable.join(', ')}`,
      `ALTER TABLE … OWNER TO ${sqlName(user)}`,
    );
  if (missing.length > 0)
    return fail(
      name,
      `${user} lacks ${missing.map(({ what }) => what).join('; ')}`,
      missing.map(({ statement }) => statement).join('; '),
    );
  return mayCreate
    ? pass(name, `${user} may create and write in ${schema}`)
    : fail(
        name,
        `${user} may not create tables in ${schema}, or not the schema for identity`,
        `GRANT CREATE ON SCHEMA ${sqlName(schema)} TO ${sqlName(user)}; GRANT CREATE ON DATABASE … TO ${sqlName(user)}`,
      );
}

/** The advice passes the schemas as psql variables, as the file expects. */
export function rolesCheck({
  rolesMissing,
  rolesUngranted,
  mayMask,
  user,
  schema,
  identitySchema,
}: Pick<
  ServerReport,
  'rolesMissing' | 'rolesUngranted' | 'mayMask' | 'user' | 'schema' | 'identitySchema'
>): Check {
  const name = 'database.roles';
  const grants = `as the mirror's owner: psql -v schema=${shellWord(schema)} -v identity=${shellWord(identitySchema)} -f ${shellWord(schemaPath('postgres', 'grants.sql'))}`;
  if (rolesMissing.length > 0)
    return warn(
      name,
      `analysts have no role to read by: ${rolesMissing.join(', ')}`,
      `as an administrator: ${rolesMissing.map((role) => `CREATE ROLE ${role} NOLOGIN;`).join(' ')} then, ${grants}`,
    );
  if (!mayMask)
    return warn(
      name,
      `${user} may not read as rosterd_analyst, so the SQL box of the dashboard refuses every query while names are masked`,
      `as an administrator: GRANT rosterd_analyst TO ${sqlName(user)};`,
    );
  if (rolesUngranted.length > 0)
    return warn(name, `${rolesUngranted.join(' and ')} may not read all that this version grants`, grants);
  return pass(name, 'the roles for analysts are there');
}

function connectionsCheck({ connectionsLeft }: ServerReport): Check {
  const name = 'database.connections';
  const free = counted(Math.max(0, connectionsLeft), 'free connection');
  if (connectionsLeft >= connectionsWanted) return pass(name, free);
  return warn(
    name,
    `${free}; a daemon opens up to ${connectionsWanted}`,
    'raise max_connections or the limit of the role, or put a pooler in session mode in between',
  );
}

export function poolerCheck(pooler: Pooler): Check {
  const name = 'database.pooler';
  switch (pooler) {
    case 'none':
      return pass(name, 'connected to the server itself');
    case 'session':
      return pass(name, 'connected by way of a pooler in session mode');
    case 'transaction':
      return warn(
        name,
        'the connection uses a pooler in transaction mode: LISTEN and session state do not work through it',
        'name a pool in session mode, or the server itself, under "database"',
      );
  }
}

function durabilityCheck({ undurable }: ServerReport): Check {
  const name = 'database.durability';
  return undurable.length === 0
    ? pass(name, 'what is committed survives a power cut')
    : warn(
        name,
        `an accepted webhook may be lost in a power cut: ${undurable.join(', ')}`,
        `ALTER SYSTEM SET ${undurable[0]?.split(' ')[0]} = on; then pg_ctl reload`,
      );
}

/** Always passes: copies of the log are no fault, but an operator who promises erasure has to know of them. */
function logCheck({ log }: ServerReport): Check {
  const copies = [
    ...(log.standbys > 0 ? [counted(log.standbys, 'standby')] : []),
    ...(log.slots > 0 ? [counted(log.slots, 'replication slot')] : []),
    ...(log.archived ? ['an archive'] : []),
  ];
  return pass(
    'database.log',
    copies.length === 0
      ? 'no visible copy of the write-ahead log; erased bytes leave it when it is recycled'
      : `the write-ahead log goes to ${copies.join(', ')}: erased bytes stay there as long as it is kept`,
  );
}

/** A lease exists only during a tick, so an idle daemon does not show here. */
async function holdersCheck(database: PostgresDatabase, clock: Clock): Promise<Check> {
  const name = 'database.holders';
  try {
    const now = instantFromMillis(clock.now());
    const holders = (await leaseHolders(database, now)).filter((holder) => !isSharedProcessGone(holder));
    return pass(name, holders.length === 0 ? 'no process writes now' : `held by ${holders.join(', ')}`);
  } catch (error) {
    return failedBy(name, error, 'rosterd doctor');
  }
}
