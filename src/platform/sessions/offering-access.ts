import type { Caller } from '../http/caller.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import { expandScopes } from '../http/scopes.js';
import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';

export interface Offering {
  readonly no: number;
  readonly id: string;
  readonly company_no: number;
  readonly company_id: string;
  readonly company_name: string;
  readonly syndicate_no: number | null;
  readonly realm: 'test' | 'live';
  readonly status: string;
  readonly closed_at: number | null;
  readonly currency: string;
  readonly investment_type: string;
  readonly offering_type: string;
  readonly share_price_cents: number | null;
  readonly testing_the_waters: number;
}

const select = `SELECT o.no, o.id, o.company_no, c.id AS company_id, c.name AS company_name, o.syndicate_no, c.realm,
  o.status, o.closed_at, o.currency, o.investment_type, o.offering_type, o.share_price_cents, o.testing_the_waters
  FROM offerings o JOIN companies c ON c.no = o.company_no`;

export function offeringByNo(state: State, no: number): Offering {
  const row = one<Offering>(state, `${select} WHERE o.no = ?`, [no]);
  if (row === undefined) throw new Error(`no offering ${no}`);
  return row;
}

export const findOfferingById = (state: State, id: string): Offering | undefined =>
  one<Offering>(state, `${select} WHERE o.id = ?`, [id]);

export const isOpen = (offering: Offering): boolean =>
  ['open', 'oversubscribed'].includes(offering.status) && offering.closed_at === null;

export function requireOpen(offering: Offering): void {
  if (isOpen(offering)) return;
  throw new Problem(422, 'unprocessable_entity', 'This offering does not take investments now.');
}

/** The id of an offering's vehicle differs from the offering id only in its prefix. */
export const spvIdOf = (offeringId: string): string => offeringId.replace(/^ofr_/, 'spv_');
export const offeringIdOf = (spvId: string): string => spvId.replace(/^spv_/, 'ofr_');

/** Returns the offering if the caller acts for its company or its syndicate. Throws a `Problem` otherwise. */
export function reachOffering(exchange: Exchange, id: string): Offering {
  const caller = callerOf(exchange);
  const offering = findOfferingById(exchange.services.state, id);
  if (offering === undefined || offering.realm !== caller.realm) throw notFound('The offering');
  requireAccess(exchange, offering);
  return offering;
}

export function requireAccess(exchange: Exchange, offering: Offering): void {
  const caller = callerOf(exchange);
  const { state } = exchange.services;
  switch (caller.kind) {
    case 'installation':
    case 'syndicate_key':
      if (!runsOffering(caller, offering)) throw boundElsewhere();
      break;
    case 'user':
      if (!personRuns(state, caller.userNo, offering)) {
        if (exchange.version >= '2026-10-15') throw notFound('The offering');
        throw new Problem(403, 'forbidden', 'Only people who can edit the company may do this.', {
          remediation: 'Ask the company for edit access.',
        });
      }
      break;
    default:
      throw new Problem(403, 'forbidden', 'This needs the token of an installation or of a person.');
  }
  if (installationOn(state, caller.app.no, offering) === undefined) {
    throw new Problem(403, 'forbidden', 'The application is not installed where this offering is run.', {
      remediation: 'Install it with POST /installations.',
    });
  }
}

const boundElsewhere = (): Problem =>
  new Problem(403, 'forbidden', 'This token is bound to another company or syndicate.', {
    remediation: 'Use the token of the installation that runs this offering.',
  });

type Bound = Extract<Caller, { kind: 'installation' | 'syndicate_key' }>;

function runsOffering(caller: Bound, offering: Offering): boolean {
  if (caller.kind === 'installation' && caller.companyNo === offering.company_no) return true;
  return caller.syndicateNo !== null && caller.syndicateNo === offering.syndicate_no;
}

function personRuns(state: State, userNo: number, offering: Offering): boolean {
  const found = one<{ runs: number }>(
    state,
    `SELECT EXISTS (SELECT 1 FROM company_members WHERE company_no = ? AND user_no = ? AND can_edit = 1)
       OR EXISTS (SELECT 1 FROM syndicate_managers WHERE syndicate_no IS ? AND user_no = ?) AS runs`,
    [offering.company_no, userNo, offering.syndicate_no, userNo],
  );
  return found?.runs === 1;
}

/** Returns the application's active installation on the offering's company, or else on its syndicate. */
export function installationOn(
  state: State,
  applicationNo: number,
  offering: Pick<Offering, 'company_no' | 'syndicate_no'>,
): { readonly no: number; readonly scopes: ReadonlySet<string> } | undefined {
  const row = one<{ no: number; scopes: string }>(
    state,
    `SELECT no, scopes FROM installations WHERE application_no = ? AND revoked_at IS NULL
       AND (company_no = ? OR syndicate_no = ?) ORDER BY company_no IS NULL, no LIMIT 1`,
    [applicationNo, offering.company_no, offering.syndicate_no],
  );
  return row && { no: row.no, scopes: expandScopes(row.scopes.split(' ')) };
}

/** Returns the row numbers of all offerings that `reachOffering` allows. */
export function reachedOfferings(exchange: Exchange): readonly number[] {
  const caller = callerOf(exchange);
  const { state } = exchange.services;
  const bound = caller.kind === 'installation' || caller.kind === 'syndicate_key' ? caller : null;
  return all<{ no: number; company_no: number; syndicate_no: number | null }>(
    state,
    `SELECT o.no, o.company_no, o.syndicate_no FROM offerings o JOIN companies c ON c.no = o.company_no
     WHERE c.realm = :realm AND (
       o.company_no = :company OR o.syndicate_no = :syndicate
       OR EXISTS (SELECT 1 FROM company_members m WHERE m.company_no = o.company_no AND m.user_no = :user AND m.can_edit = 1)
       OR EXISTS (SELECT 1 FROM syndicate_managers m WHERE m.syndicate_no = o.syndicate_no AND m.user_no = :user))
     ORDER BY o.no`,
    {
      realm: caller.realm,
      company: bound?.kind === 'installation' ? bound.companyNo : null,
      syndicate: bound?.syndicateNo ?? null,
      user: caller.kind === 'user' ? caller.userNo : null,
    },
  )
    .filter((row) => installationOn(state, caller.app.no, row) !== undefined)
    .map((row) => row.no);
}
