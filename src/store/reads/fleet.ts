import { memberMillis } from '../dialect/postgres/fleet-life.js';
import type { Ask } from './snapshot.js';

/** One of the daemons that share the database. */
export interface FleetMember {
  /** Its host and process id. */
  readonly host: string;
  readonly version: string;
  readonly joined_at: string;
  readonly seen_at: string;
  /** 1 while it sends heartbeats. Others take over the sources of a dead member. */
  readonly alive: 0 | 1;
  /** 1 for the leader, which sends notices and runs the background jobs. */
  readonly leads: 0 | 1;
  /** The sources assigned to it. */
  readonly sources: readonly string[];
  /** The sources of its configuration. */
  readonly follows: readonly string[];
}

interface Row extends Omit<FleetMember, 'host' | 'leads'> {
  readonly member: string;
}

/**
 * Returns the daemons that share a PostgreSQL database, the oldest member first. Null when the schema is too old to
 * have a fleet, and when the user may not read its table.
 */
export async function readFleet(ask: Ask): Promise<readonly FleetMember[] | null> {
  const [may] = await ask<{ readable: 0 | 1 }>`
    SELECT coalesce(has_table_privilege(to_regclass('fleet_members'), 'SELECT'), false) AS readable`;
  if (may?.readable !== 1) return null;
  const rows = await ask<Row>`
    SELECT m.member, m.version, m.joined_at, m.seen_at,
           m.seen_at >= fleet_clock(${memberMillis}) AND m.seen_at <= fleet_clock(${-memberMillis}) AS alive,
           m.sources AS follows,
           ARRAY(SELECT s.source FROM fleet_sources s WHERE s.member = m.member ORDER BY s.source) AS sources
    FROM fleet_members m ORDER BY m.joined_at, m.member`;
  const first = rows.find(({ alive }) => alive === 1);
  return rows.map(({ member, ...row }) => ({
    host: member.split(':').slice(0, 2).join(':'),
    ...row,
    leads: member === first?.member ? 1 : 0,
  }));
}
