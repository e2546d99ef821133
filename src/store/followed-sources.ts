import type { Selectable } from 'kysely';
import type { InstallationId, SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { FollowedSource, FollowedSourceChange } from '../installations/ports.js';
import type { FollowedSourcesTable } from './operating-schema.js';

type Row = Selectable<FollowedSourcesTable>;

/** What a statement binds. */
export type Bound = string | number | null;

const columns = [
  ...[
    'source',
    'rule',
    'realm',
    'target_type',
    'target',
    'installation',
    'state',
    'reason',
    'scopes',
    'mints',
  ],
  ...['last_mint_at', 'first_seen_at', 'connected_at', 'disconnected_at', 'erase_after', 'erased_at'],
  'erased_rows',
] as const;

export const listFollowed = `SELECT ${columns.join(', ')} FROM followed_sources ORDER BY source`;

/** Selects the sources that the rule `?` follows now, except those of which no name is stored. */
export const followedWithNames = `SELECT no FROM sources WHERE coalesce(identity_included, 1) = 1 AND name IN
    (SELECT source FROM followed_sources WHERE rule = ? AND state IN ('waiting', 'connected')) ORDER BY no`;

/** Notes, as `grantIsGone` does, that no name of the source `?` is stored. */
export const noteDropped =
  'UPDATE sources SET identity_included = 0, names_from_generation = generation + 1 WHERE no = ?';

export const readRevision = 'SELECT coalesce(max(revision), 0) AS revision FROM followed_revision';

export const raiseRevision = `INSERT INTO followed_revision (one, revision) VALUES (1, 1)
  ON CONFLICT (one) DO UPDATE SET revision = followed_revision.revision + 1`;

export function followedFrom(row: Row): FollowedSource {
  return {
    source: row.source as SourceName,
    rule: row.rule,
    realm: row.realm,
    targetType: row.target_type,
    target: row.target,
    installation: row.installation as InstallationId,
    state: row.state,
    reason: row.reason,
    scopes: row.scopes === null ? null : row.scopes.split(' ').filter((scope) => scope !== ''),
    mints: Number(row.mints),
    lastMintAt: row.last_mint_at as Instant | null,
    firstSeenAt: row.first_seen_at as Instant,
    connectedAt: row.connected_at as Instant | null,
    disconnectedAt: row.disconnected_at as Instant | null,
    eraseAfter: row.erase_after as Instant | null,
    erasedAt: row.erased_at as Instant | null,
    erasedRows: row.erased_rows === null ? null : Number(row.erased_rows),
  };
}

/** A write of one entry with `?` for its values. It affects no row when the entry is not as the change expects it. */
export interface FollowedWrite {
  readonly sql: string;
  readonly values: readonly Bound[];
}

/** Throws when a change gives an entry another name: the name is its key. */
export function writeOf({ next, before }: FollowedSourceChange): FollowedWrite {
  const values = boundOf(next);
  if (before === null) return { sql: insert, values };
  if (before.source !== next.source) throw new Error('a followed source keeps its name');
  return {
    sql: update,
    values: [
      ...[...values.slice(1), next.source],
      ...[before.state, before.mints, before.installation, before.reason ?? '', before.eraseAfter ?? ''],
      ...[next.source, next.rule, next.realm, next.target],
    ],
  };
}

function boundOf(entry: FollowedSource): readonly Bound[] {
  return [
    ...[entry.source, entry.rule, entry.realm, entry.targetType, entry.target, entry.installation],
    ...[entry.state, entry.reason, entry.scopes === null ? null : entry.scopes.join(' '), entry.mints],
    ...[entry.lastMintAt, entry.firstSeenAt, entry.connectedAt, entry.disconnectedAt],
    ...[entry.eraseAfter, entry.erasedAt, entry.erasedRows],
  ];
}

/** Both the name and the target of a rule are unique. */
const insert = `INSERT INTO followed_sources (${columns.join(', ')})
  VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT DO NOTHING`;

const update = `UPDATE followed_sources SET ${columns
  .slice(1)
  .map((name) => `${name} = ?`)
  .join(', ')}
  WHERE source = ? AND state = ? AND mints = ? AND installation = ?
    AND coalesce(reason, '') = ? AND coalesce(erase_after, '') = ?
    AND NOT EXISTS (SELECT 1 FROM followed_sources o
                    WHERE o.source <> ? AND o.rule = ? AND o.realm = ? AND o.target = ?)`;
