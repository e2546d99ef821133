import { defined } from '../../../domain/defined.js';
import type { SourceName } from '../../../domain/ids.js';
import type { Instant } from '../../../domain/instant.js';
import type { Beat, FleetEars, FleetStore, Holdings, Message } from '../../../fleet/ports.js';
import { isAlive, memberMillis } from './fleet-life.js';
import { payloadsOf, readPayload } from './fleet-message.js';
import type { ServerAddress } from './make-client.js';
import { withNamedRights } from './missing-rights.js';
import { knownSchema, outdated, presentSchema } from './one-version.js';
import type { PostgresDatabase } from './open.js';
import { OwnConnection } from './own-connection.js';
import { asStored } from './schema-names.js';

export interface FleetLocation {
  readonly server: ServerAddress;
  readonly database: Pick<PostgresDatabase, 'pool' | 'url' | 'schema' | 'identitySchema'>;
  readonly version: string;
}

/** One member's access to the fleet's tables and notifications. */
export class PostgresFleet implements FleetStore {
  readonly #connection: OwnConnection;
  readonly #channel: string;

  constructor(
    private readonly member: string,
    private readonly location: FleetLocation,
    { onMessage, onGap, onLost }: FleetEars,
  ) {
    // Channels are shared by the whole database, so each schema has its own.
    this.#channel = asStored(`rosterd_${location.database.schema}`);
    this.#connection = new OwnConnection({
      server: location.server,
      applicationName: 'rosterd-fleet',
      channel: this.#channel,
      onPayload: (payload) => {
        const received = readPayload(payload);
        if (received !== null && received.from !== member) onMessage(received.message);
      },
      onConnected: onGap,
      ...defined({ onLost }),
    });
  }

  async join(sources: readonly SourceName[]): Promise<void> {
    const { version } = this.location;
    const [joined] = await this.#rows(join, this.member, version, sources, knownSchema());
    if (joined !== undefined) return;
    const [found] = await this.#rows<{ schema: number }>(`SELECT ${presentSchema} AS schema`);
    throw outdated(found?.schema ?? 0);
  }

  async beat(spaced: readonly SourceName[]): Promise<Beat | null> {
    const [mine] = await this.#rows<{ late: 0 | 1 }>(beat, this.member, spaced);
    if (mine === undefined) return null;
    const members = await this.#rows<MemberRow>(everyMember);
    return {
      late: mine.late === 1,
      members: members.map(({ member, joined_at, alive, holds, spaced }) => ({
        member,
        holds,
        spaced,
        joinedAt: joined_at as Instant,
        alive: alive === 1,
      })),
    };
  }

  async holdings(): Promise<Holdings> {
    const members = await this.#rows<{ member: string; sources: SourceName[] }>(livingMembers);
    const held = await this.#rows<{ source: SourceName; member: string }>(heldSources);
    return { members, held: new Map(held.map(({ source, member }) => [source, member])) };
  }

  async take(sources: readonly SourceName[]): Promise<readonly SourceName[]> {
    const taken = await this.#rows<{ source: SourceName }>(take, this.member, sources);
    return taken.map(({ source }) => source);
  }

  async release(sources: readonly SourceName[]): Promise<void> {
    await this.#rows(release, this.member, sources);
  }

  async markDead(members: readonly string[]): Promise<void> {
    await this.#rows(markDead, members);
  }

  async leave(): Promise<void> {
    await this.#rows('DELETE FROM fleet_members WHERE member = $1', this.member);
    await this.tell({ kind: 'members' });
  }

  async tell(message: Message): Promise<void> {
    for (const payload of payloadsOf(this.member, message))
      await this.#rows('SELECT pg_notify($1, $2)', this.#channel, payload);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #rows<Row>(text: string, ...values: readonly unknown[]): Promise<Row[]> {
    return withNamedRights(this.location.database, () => this.#connection.rows<Row>(text, ...values));
  }
}

interface MemberRow {
  readonly member: string;
  readonly joined_at: string;
  readonly alive: 0 | 1;
  readonly holds: number;
  readonly spaced: readonly SourceName[];
}

/**
 * Adds no row when a later version has migrated the database. Also deletes members without a heartbeat for a day, so that
 * the table stays as small as the fleet.
 */
const join = `
  WITH forgotten AS (DELETE FROM fleet_members WHERE (seen_at < fleet_clock(86400000) OR seen_at > fleet_clock(-86400000)) AND member <> $1)
  INSERT INTO fleet_members (member, version, sources, joined_at, seen_at, schema)
  SELECT $1::text, $2::text, $3::text[], fleet_clock(), fleet_clock(), $4::int WHERE ${presentSchema} <= $4::int
  ON CONFLICT (member) DO UPDATE SET sources = excluded.sources, seen_at = excluded.seen_at
  RETURNING member`;

const beat = `
  UPDATE fleet_members m SET seen_at = fleet_clock(), spaced = $2
  FROM (SELECT member, ${isAlive('o')} AS alive FROM fleet_members o WHERE member = $1 FOR NO KEY UPDATE) before
  WHERE m.member = before.member RETURNING NOT before.alive AS late`;

const everyMember = `
  SELECT member, joined_at, spaced, ${isAlive('m')} AS alive,
         (SELECT count(*)::int FROM fleet_sources s WHERE s.member = m.member) AS holds
  FROM fleet_members m`;

const livingMembers = `SELECT member, sources FROM fleet_members m WHERE ${isAlive('m')} ORDER BY member`;

const heldSources = `
  SELECT s.source, s.member FROM fleet_sources s JOIN fleet_members m USING (member)
  WHERE ${isAlive('m')} ORDER BY s.source`;

/** Ordered by name, so that two members claiming sources at once cannot deadlock. */
const take = `
  INSERT INTO fleet_sources AS s (source, member, since)
  SELECT name, $1, fleet_clock() FROM unnest($2::text[]) AS name ORDER BY name
  ON CONFLICT (source) DO UPDATE SET member = excluded.member, since = excluded.since
  WHERE NOT EXISTS (SELECT 1 FROM fleet_members m WHERE m.member = s.member AND ${isAlive('m')})
  RETURNING source`;

const release = 'DELETE FROM fleet_sources WHERE member = $1 AND source = ANY($2::text[])';

const markDead = `UPDATE fleet_members SET seen_at = fleet_clock(${memberMillis + 1}) WHERE member = ANY($1::text[])`;
