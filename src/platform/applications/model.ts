import { releasedAt } from '../../wire/versions.js';
import type { AppRow } from '../http/caller.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { digestOf, newId, newSecret, type Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';

export interface Application extends AppRow {
  readonly confidential: boolean;
  readonly redirectUris: readonly string[];
  readonly setupUrl: string | null;
  /** The selected scopes, without the scopes they imply. */
  readonly scopes: readonly string[];
  readonly piiApproved: boolean;
  readonly createdAt: number;
}

export interface ClientKeys {
  readonly clientId: string;
  readonly secret: string;
}

export interface ApplicationWish {
  readonly organizationNo: number;
  readonly name: string;
  readonly confidential: boolean;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
  readonly setupUrl?: string | null;
}

interface Row extends AppRow {
  readonly confidential: number;
  readonly redirect_uris: string;
  readonly setup_url: string | null;
  readonly scopes: string;
  readonly pii_approved: number;
  readonly created_at: number;
}

const columns = `no, id, organization_no, name, status, approved_at, pinned_version, confidential, redirect_uris,
  setup_url, scopes, pii_approved, created_at`;

/**
 * Creates an application with its test and live key pairs. The input must be validated already. The live secret is
 * only in the returned value; the test secret can be read later.
 */
export function createApplication(
  services: Pick<Services, 'state' | 'random'>,
  wish: ApplicationWish,
  now: number,
): { readonly application: Application; readonly clients: Readonly<Record<Realm, ClientKeys>> } {
  return services.state.transaction(() => {
    const { no } = run(
      services.state,
      `INSERT INTO applications (id, organization_no, name, confidential, redirect_uris, setup_url, scopes,
         pinned_version, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        newId(services.random, 'app_'),
        wish.organizationNo,
        wish.name,
        wish.confidential ? 1 : 0,
        JSON.stringify(wish.redirectUris),
        wish.setupUrl ?? null,
        JSON.stringify(wish.scopes),
        releasedAt(now),
        now,
      ],
    );
    const clients = { test: mintClient(services, no, 'test'), live: mintClient(services, no, 'live') };
    return { application: applicationByNo(services.state, no), clients };
  })();
}

export interface ApplicationChange {
  readonly name: string;
  readonly redirectUris: readonly string[];
  readonly setupUrl: string | null;
}

export function changeApplication(state: State, no: number, change: ApplicationChange): Application {
  run(state, 'UPDATE applications SET name = ?, redirect_uris = ?, setup_url = ? WHERE no = ?', [
    change.name,
    JSON.stringify(change.redirectUris),
    change.setupUrl,
    no,
  ]);
  return applicationByNo(state, no);
}

function mintClient(
  services: Pick<Services, 'state' | 'random'>,
  applicationNo: number,
  realm: Realm,
): ClientKeys {
  const clientId = newId(services.random, `pk_${realm}_`);
  const secret = newSecret(services.random, `sk_${realm}_`);
  run(
    services.state,
    `INSERT INTO clients (client_id, application_no, realm, secret_digest, secret_plain) VALUES (?, ?, ?, ?, ?)`,
    [clientId, applicationNo, realm, digestOf(secret), realm === 'test' ? secret : null],
  );
  return { clientId, secret };
}

export function applicationByNo(state: State, no: number): Application {
  const row = one<Row>(state, `SELECT ${columns} FROM applications WHERE no = ?`, [no]);
  if (row === undefined) throw new Error(`no application ${no}`);
  return application(row);
}

export function applicationsOf(state: State, organizationNo: number): Application[] {
  return all<Row>(
    state,
    `SELECT ${columns} FROM applications WHERE organization_no = ? AND status <> 'deleted' ORDER BY no`,
    [organizationNo],
  ).map(application);
}

function application(row: Row): Application {
  return {
    no: row.no,
    id: row.id,
    organization_no: row.organization_no,
    name: row.name,
    status: row.status,
    approved_at: row.approved_at,
    pinned_version: row.pinned_version,
    confidential: row.confidential === 1,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    setupUrl: row.setup_url,
    scopes: JSON.parse(row.scopes) as string[],
    piiApproved: row.pii_approved === 1,
    createdAt: row.created_at,
  };
}

export type OrganizationRole = 'owner' | 'admin' | 'developer' | 'viewer';

export function organizationRole(
  state: State,
  organizationNo: number,
  userNo: number,
): OrganizationRole | null {
  const row = one<{ role: OrganizationRole }>(
    state,
    'SELECT role FROM organization_members WHERE organization_no = ? AND user_no = ?',
    [organizationNo, userNo],
  );
  return row?.role ?? null;
}

/** Returns whether the user is a developer, admin or owner of the organization. Viewers do not manage it. */
export function managesOrganization(state: State, organizationNo: number, userNo: number): boolean {
  const role = organizationRole(state, organizationNo, userNo);
  return role !== null && role !== 'viewer';
}

/** Returns whether the user is an owner or admin. Only they may revoke installations and disable applications. */
export function administersOrganization(state: State, organizationNo: number, userNo: number): boolean {
  const role = organizationRole(state, organizationNo, userNo);
  return role === 'owner' || role === 'admin';
}
