import { type EventName, eventScopes } from '../../wire/events.js';
import type { PlatformEvent } from '../events.js';
import { expandScopes } from '../http/scopes.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all } from '../state/statements.js';

export type InstallationKind = 'company' | 'syndicate' | 'user';

export interface Recipient {
  readonly no: number;
  readonly id: string;
  readonly kind: InstallationKind;
  readonly scopes: ReadonlySet<string>;
  readonly target: { readonly type: InstallationKind; readonly id: string; readonly name: string | null };
}

/** An enabled endpoint in the event's realm that subscribes to the event. */
export interface Subscriber {
  readonly no: number;
  readonly application_no: number;
  readonly installation_no: number | null;
}

/** Installation kinds that receive an event, by the part of its name before the dot. Default: all three. */
const kindsOf: Readonly<Record<string, readonly InstallationKind[]>> = {
  syndicate_member: ['syndicate'],
  join_session: ['syndicate'],
  investment_session: ['company', 'syndicate'],
};

export function subscribersOf(state: State, event: EventName, realm: Realm): readonly Subscriber[] {
  return all<Subscriber>(
    state,
    `SELECT e.no, e.application_no, e.installation_no FROM webhook_subscriptions s
     JOIN webhook_endpoints e ON e.no = s.endpoint_no JOIN applications a ON a.no = e.application_no
     WHERE s.event = ? AND e.mode = ? AND e.enabled = 1 AND e.removed_at IS NULL
       AND a.status IN ('active', 'suspended') ORDER BY e.no`,
    [event, realm],
  );
}

interface InstallationRow {
  readonly no: number;
  readonly id: string;
  readonly scopes: string;
  readonly kind: InstallationKind;
  readonly target_id: string;
  readonly target_name: string | null;
}

/** The installation of a connected user has the user's id as its only identity. */
const installationColumns = `i.no, i.id, i.scopes,
  CASE WHEN i.company_no IS NOT NULL THEN 'company' WHEN i.syndicate_no IS NOT NULL THEN 'syndicate' ELSE 'user' END
    AS kind,
  coalesce(c.id, s.id, u.id) AS target_id, coalesce(c.name, s.name) AS target_name
  FROM installations i LEFT JOIN companies c ON c.no = i.company_no LEFT JOIN syndicates s ON s.no = i.syndicate_no
  LEFT JOIN users u ON u.no = i.user_no`;

/** The installation of a connected user receives events of the companies and syndicates the user helps manage. */
const matchedSql = `SELECT ${installationColumns}
  WHERE i.application_no = :application AND i.realm = :realm AND i.revoked_at IS NULL AND (
    (:installation IS NOT NULL AND i.no = :installation) OR (:installation IS NULL AND (
      i.company_no = :company OR i.syndicate_no = :syndicate
      OR (i.user_no IS NOT NULL AND (
        EXISTS (SELECT 1 FROM company_members m WHERE m.company_no = :company AND m.user_no = i.user_no)
        OR EXISTS (SELECT 1 FROM syndicate_managers g WHERE g.syndicate_no = :syndicate AND g.user_no = i.user_no))))))
  ORDER BY i.no`;

const oneSql = `SELECT ${installationColumns} WHERE i.application_no = ? AND i.no = ?`;

/** Returns the application's installations that may receive the event, oldest first. */
export function recipientsOf(
  state: State,
  event: PlatformEvent,
  applicationNo: number,
): readonly Recipient[] {
  // `installation.*` events concern one installation, which may already be revoked.
  if (concernsInstallation(event.name)) {
    return all<InstallationRow>(state, oneSql, [applicationNo, event.installationNo]).map(recipient);
  }
  const rows = all<InstallationRow>(state, matchedSql, {
    application: applicationNo,
    realm: event.realm,
    installation: event.installationNo,
    company: event.companyNo,
    syndicate: event.syndicateNo,
  });
  const kinds = kindsOf[event.name.slice(0, event.name.indexOf('.'))];
  const scope = eventScopes[event.name];
  return rows
    .map(recipient)
    .filter((row) => kinds === undefined || kinds.includes(row.kind))
    .filter((row) => scope === null || row.scopes.has(scope));
}

export const concernsInstallation = (event: EventName): boolean => event.startsWith('installation.');

export function recipientByNo(state: State, applicationNo: number, installationNo: number): Recipient {
  const row = all<InstallationRow>(state, oneSql, [applicationNo, installationNo])[0];
  if (row === undefined) throw new Error('a bound webhook endpoint has no installation');
  return recipient(row);
}

const recipient = (row: InstallationRow): Recipient => ({
  no: row.no,
  id: row.id,
  kind: row.kind,
  scopes: expandScopes(row.scopes.split(' ')),
  target: { type: row.kind, id: row.target_id, name: row.target_name },
});
