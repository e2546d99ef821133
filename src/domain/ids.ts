import type { Brand } from './brand.js';

export type InvestmentId = Brand<string, 'InvestmentId'>;
export type CompanyId = Brand<string, 'CompanyId'>;
export type OfferingId = Brand<string, 'OfferingId'>;
export type UserId = Brand<string, 'UserId'>;
export type InstallationId = Brand<string, 'InstallationId'>;
export type EventId = Brand<string, 'EventId'>;

/** The name of a source in the configuration and in the `source` column of every table. */
export type SourceName = Brand<string, 'SourceName'>;

/** Prefixes used by the platform. Sessions use `invt_` where the feed uses `inv_`; both name an investment. */
const idPrefixes = {
  investment: ['inv_', 'invt_'],
  company: ['co_'],
  offering: ['ofr_'],
  user: ['usr_'],
  installation: ['inst_'],
  event: ['evt_'],
} as const;

export type IdKind = keyof typeof idPrefixes;

interface IdOf {
  investment: InvestmentId;
  company: CompanyId;
  offering: OfferingId;
  user: UserId;
  installation: InstallationId;
  event: EventId;
}

/** 200 is far above any real id and far below what would bloat an index. The alphabet keeps ids safe to print. */
const shape = /^[A-Za-z0-9_-]{1,200}$/;

/** Whether a value has the form of an id, of whatever kind: posts have ids without a prefix. */
export function isIdShaped(value: unknown): value is string {
  return typeof value === 'string' && shape.test(value);
}

export function parseId<Kind extends IdKind>(kind: Kind, value: unknown): IdOf[Kind] | undefined {
  if (!isIdShaped(value)) return undefined;
  return idPrefixes[kind].some((prefix) => value.startsWith(prefix) && value.length > prefix.length)
    ? (value as IdOf[Kind])
    : undefined;
}

const sourceShape = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export function parseSourceName(value: unknown): SourceName | undefined {
  return typeof value === 'string' && sourceShape.test(value) ? (value as SourceName) : undefined;
}
