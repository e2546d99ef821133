import { latestVersion } from '../../../wire/versions.js';
import { type Application, applicationByNo } from '../../applications/model.js';
import { namedApplication } from '../../applications/named.js';
import { splitScopes } from '../../applications/scopes.js';
import { notFound, Problem } from '../../http/problem.js';
import { installWithoutToken, mintFor } from '../../installations/install.js';
import { revokeInstallation } from '../../installations/revoke.js';
import type { Services } from '../../services.js';
import type { State } from '../../state/database.js';
import type { Realm } from '../../state/secrets.js';
import { all, one } from '../../state/statements.js';

/** Installs and revocations by founders, one or thousands at a time. Each emits the event that the API emits. */

export interface InstalledFor {
  readonly app: Application;
  readonly realm: Realm;
}

export interface InstallTerms {
  readonly scopes?: readonly string[] | undefined;
  /** Mints a token for each installation, as `POST /installations` does. */
  readonly tokens: boolean;
}

export interface MadeInstallation {
  readonly id: string;
  readonly company: string;
  /** The revoked installation that this one follows. */
  readonly replaces?: string;
  readonly token?: string;
}

/** Returns the application by its id or a client id; without one, the first application of the sandbox. */
export function applicationFor(state: State, id: string | undefined, realm: Realm): InstalledFor {
  if (id !== undefined) return { app: namedApplication(state, id), realm };
  const first = one<{ no: number }>(state, 'SELECT no FROM applications ORDER BY no LIMIT 1');
  if (first === undefined) throw notFound('An application');
  return { app: applicationByNo(state, first.no), realm };
}

/** Installs the application on a company, as its founder. */
export function installOn(
  services: Services,
  { app, realm }: InstalledFor,
  company: string,
  { scopes, tokens }: InstallTerms,
  now: number,
): MadeInstallation {
  const installer = { applicationNo: app.no, realm, userNo: founderOf(services.state, realm, company) };
  const wish = { targetType: 'company', targetId: company, scopes, tier: undefined } as const;
  const made = installWithoutToken(services, installer, latestVersion, wish, now);
  if (!tokens) return { id: made.id, company };
  return { id: made.id, company, token: mintFor(services, made, made.scopes.split(' '), now).token };
}

function founderOf(state: State, realm: Realm, company: string): number {
  const founder = one<{ user_no: number }>(
    state,
    `SELECT m.user_no FROM company_members m JOIN companies c ON c.no = m.company_no
     WHERE c.id = ? AND c.realm = ? ORDER BY m.tier = 'founder' DESC, m.can_edit DESC, m.user_no LIMIT 1`,
    [company, realm],
  );
  if (founder === undefined)
    throw new Problem(400, 'invalid_params', `companies: ${company} is not a company of the ${realm} realm.`);
  return founder.user_no;
}

export interface HeldInstallation {
  readonly no: number;
  readonly id: string;
  readonly application_no: number;
  readonly realm: Realm;
  /** Null: the application is installed on a syndicate, or a person connected it. */
  readonly company: string | null;
}

const heldSql = `SELECT i.no, i.id, i.application_no, i.realm, c.id AS company
  FROM installations i LEFT JOIN companies c ON c.no = i.company_no`;

export function heldInstallation(state: State, id: string): HeldInstallation {
  const row = one<HeldInstallation>(state, `${heldSql} WHERE i.id = ?`, [id]);
  if (row === undefined) throw notFound(`The installation ${id}`);
  return row;
}

/** Returns the active installations of the application on companies, oldest first. */
export function activeInstallations(state: State, { app, realm }: InstalledFor): readonly HeldInstallation[] {
  return all<HeldInstallation>(
    state,
    `${heldSql} WHERE i.application_no = ? AND i.realm = ? AND i.company_no IS NOT NULL AND i.revoked_at IS NULL
     ORDER BY i.no`,
    [app.no, realm],
  );
}

export function revokeAsFounder(services: Services, held: HeldInstallation, now: number): void {
  revokeInstallation(services, held.no, 'founder', now);
}

/** Revokes an installation, if it is still active, and installs the application on the same company again. */
export function reinstall(
  services: Services,
  held: HeldInstallation,
  terms: InstallTerms,
  now: number,
): MadeInstallation {
  const { company } = held;
  if (company === null)
    throw new Problem(400, 'invalid_params', `ids: ${held.id} is not an installation on a company.`);
  revokeAsFounder(services, held, now);
  const of = { app: applicationByNo(services.state, held.application_no), realm: held.realm };
  return { ...installOn(services, of, company, terms, now), replaces: held.id };
}

interface ListedRow {
  readonly id: string;
  readonly application: string;
  readonly realm: Realm;
  readonly company: string | null;
  readonly syndicate: string | null;
  readonly scopes: string;
  readonly installed_at: number;
  readonly revoked_at: number | null;
  readonly tokens: number;
}

const listedSql = `SELECT i.id, a.id AS application, i.realm, c.id AS company, s.id AS syndicate, i.scopes,
    i.installed_at, i.revoked_at,
    (SELECT count(*) FROM access_tokens t WHERE t.installation_no = i.no AND t.revoked_at IS NULL) AS tokens
  FROM installations i JOIN applications a ON a.no = i.application_no
  LEFT JOIN companies c ON c.no = i.company_no LEFT JOIN syndicates s ON s.no = i.syndicate_no
  WHERE i.user_no IS NULL AND i.application_no = $application AND i.realm = $realm
    AND ($company IS NULL OR c.id = $company)
    AND ($active IS NULL OR (i.revoked_at IS NULL) = $active)
  ORDER BY i.no`;

export interface ListedFilter {
  readonly company: string | null;
  readonly status: 'active' | 'revoked' | null;
}

/** Lists installations, oldest first. Tokens are counted: only their digests are stored. */
export function listInstalls(state: State, { app, realm }: InstalledFor, filter: ListedFilter) {
  const rows = all<ListedRow>(state, listedSql, {
    application: app.no,
    realm,
    company: filter.company,
    active: filter.status === null ? null : filter.status === 'active' ? 1 : 0,
  });
  return rows.map((row) => ({
    id: row.id,
    application: row.application,
    realm: row.realm,
    company: row.company,
    syndicate: row.syndicate,
    status: row.revoked_at === null ? 'active' : 'revoked',
    scopes: splitScopes(row.scopes),
    installedAt: new Date(row.installed_at).toISOString(),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
    tokens: row.tokens,
  }));
}
