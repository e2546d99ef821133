import type { OrganizationRole } from '../applications/model.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all, one } from '../state/statements.js';

/** An organization, with the role of one of its users. */
export interface Membership {
  readonly no: number;
  readonly id: string;
  readonly name: string;
  readonly role: OrganizationRole;
  readonly terms_accepted_at: number | null;
}

export const membershipsOf = (state: State, userNo: number): readonly Membership[] =>
  all<Membership>(
    state,
    `SELECT o.no, o.id, o.name, m.role, t.accepted_at AS terms_accepted_at
     FROM organization_members m JOIN organizations o ON o.no = m.organization_no
     LEFT JOIN attribution_terms t ON t.organization_no = o.no WHERE m.user_no = ? ORDER BY o.no`,
    [userNo],
  );

/** A client id, which is not secret. The client secret is not read here. */
export interface Key {
  readonly client_id: string;
  readonly realm: Realm;
}

export const keysOf = (state: State, applicationNo: number): readonly Key[] =>
  all<Key>(
    state,
    'SELECT client_id, realm FROM clients WHERE application_no = ? AND archived_at IS NULL ORDER BY realm',
    [applicationNo],
  );

/** Returns the application of a delivery, and whether its endpoint is bound to an installation. */
export const ownerOfDelivery = (
  state: State,
  deliveryId: string,
): { readonly application_no: number; readonly bound: number } | undefined =>
  one(
    state,
    `SELECT e.application_no, e.installation_no IS NOT NULL AS bound FROM webhook_deliveries d
     JOIN webhook_endpoints e ON e.no = d.endpoint_no WHERE d.id = ?`,
    [deliveryId],
  );
