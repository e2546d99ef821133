import type { InstallationId, SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type {
  DisconnectReason,
  FollowedSource,
  FollowedSourceChange,
  InstallationList,
  ListedInstallation,
  Realm,
} from './ports.js';
import { freeName, sourceNameFor } from './source-name.js';

/*
 * What the installations of an application mean for the followed sources. Everything here is pure: from what the platform
 * answered, what is stored and the time to the rows to store.
 *
 *     (new) ─▶ waiting ─ token stored ─▶ connected ─ revoked, gone, excepted, rule removed ─▶ disconnected ─ time is up ─▶ erased
 *                 ▲                          │                                                      │                        │
 *                 └── token refused ─────────┘                                                      │                        │
 *                 └── installed again, or no longer excepted ───────────────────────────────────────┴────────────────────────┘
 *
 * A source belongs to a target, such as a company, and not to an installation: a target that installs the application
 * again gets a new installation and keeps its source, with its name and history.
 *
 * A target that an operator forgot stays forgotten, also when it installs again or the rule gets another name, until an
 * operator follows it again.
 */

/** The part of a rule that decides about sources. */
export interface Rule {
  readonly rule: string;
  readonly target: string;
  readonly name: string;
  /** Days from the end of an installation to the erasure; null keeps the rows. */
  readonly keepDays: number | null;
  readonly except: readonly InstallationId[];
  readonly overrides: ReadonlyMap<InstallationId, { readonly name?: SourceName }>;
}

export interface Plan {
  readonly changes: readonly FollowedSourceChange[];
  /** Sources whose installation a complete listing does not name. Only the platform can tell whether it still exists. */
  readonly missing: readonly FollowedSource[];
}

export interface Known {
  readonly realm: Realm;
  /** All stored rows, of every rule. */
  readonly rows: readonly FollowedSource[];
  /** Names that rows of the database or listed sources use. */
  readonly isTaken: (name: SourceName) => boolean;
  /** The names of all rules of the configuration. */
  readonly ruleNames: ReadonlySet<string>;
}

/** Plans what a listing of installations, or a single installation, changes. */
export function planListing(rule: Rule, listing: InstallationList, known: Known, now: number): Plan {
  const byTarget = new Map(rowsOf(rule, known).map((row) => [row.target, row]));
  const names = new Set(known.rows.map(({ source }) => source));
  const wished = new Set([...rule.overrides.values()].flatMap(({ name }) => name ?? []));
  const isTaken = (name: SourceName) => known.isTaken(name) || names.has(name) || wished.has(name);
  const reached = new Map<string, number>();
  const shared = followedElsewhere(rule, known);
  const free = listing.installations.filter(({ id }) => !shared.has(id));
  const active = activeByTarget(rule, free, byTarget);
  const forgotten = forgottenTargets(known);
  const changes: FollowedSourceChange[] = [];

  for (const installation of active.values()) {
    const before = byTarget.get(installation.target) ?? null;
    if (before === null && forgotten.has(installation.target)) continue;
    const next =
      before === null
        ? newSource(rule, installation, known.realm, nameOf(rule, installation, names, isTaken, reached), now)
        : installed(rule, before, installation, now);
    if (next === null || next === before) continue;
    names.add(next.source);
    changes.push({ before, next });
  }
  const inactive = [...byTarget.values()].filter(({ target }) => !active.has(target));
  const { revoked, unnamed } = withoutActive(rule, inactive, listing.installations, now);
  return {
    changes: [...changes, ...revoked],
    missing: listing.isComplete ? unnamed.filter(isOpen) : [],
  };
}

/** Returns what changes of sources without an active installation, and those whose installation the list does not name. */
function withoutActive(
  rule: Rule,
  sources: readonly FollowedSource[],
  installations: readonly ListedInstallation[],
  now: number,
): { readonly revoked: readonly FollowedSourceChange[]; readonly unnamed: readonly FollowedSource[] } {
  const ended = new Map(installations.filter(({ isActive }) => !isActive).map((one) => [one.id, one]));
  const revoked: FollowedSourceChange[] = [];
  const unnamed: FollowedSource[] = [];
  for (const before of sources) {
    const end = ended.get(before.installation);
    if (end === undefined) {
      unnamed.push(before);
      continue;
    }
    const next = disconnected(rule, before, 'revoked', endOf(end, now));
    if (next !== before) revoked.push({ before, next });
  }
  return { revoked, unnamed };
}

/** Returns the source after the platform said that its installation does not exist. */
export function gone(rule: Rule, before: FollowedSource, now: number): FollowedSource {
  return disconnected(rule, before, 'gone', instantFromMillis(now));
}

/** Returns changes that need no answer of the platform: rules that no longer exist, and other times of erasure. */
export function planRules(
  rules: ReadonlyMap<string, { readonly rule: Rule; readonly realm: Realm | null }>,
  rows: readonly FollowedSource[],
  now: number,
): readonly FollowedSourceChange[] {
  return rows.flatMap((before) => {
    const known = rules.get(before.rule);
    // The realm of a rule whose account cannot be read is not known: its sources stay as they are.
    const isForeign = known === undefined || (known.realm !== null && known.realm !== before.realm);
    const next = isForeign ? withoutRule(before, now) : rescheduled(known.rule, before);
    return next === before ? [] : [{ before, next }];
  });
}

/** Whether the source has an installation that counts as active. */
export function isOpen({ state }: FollowedSource): boolean {
  return state === 'waiting' || state === 'connected';
}

/** `now`: null while the time is not known. Only what an operator forgot is erased then: it waits for no time. */
export function isErasureDue({ state, reason, eraseAfter }: FollowedSource, now: number | null): boolean {
  if (state !== 'disconnected') return false;
  return reason === 'forgotten' || (now !== null && eraseAfter !== null && millisOf(eraseAfter) <= now);
}

/** Returns the source after the request for a token was counted, which precedes the request. */
export function mintCounted(before: FollowedSource, now: number): FollowedSource {
  return { ...before, mints: before.mints + 1, lastMintAt: instantFromMillis(now) };
}

export function connected(
  before: FollowedSource,
  scopes: readonly string[] | null,
  now: number,
): FollowedSource {
  return { ...before, state: 'connected', scopes, connectedAt: instantFromMillis(now) };
}

/** Returns the source after the platform refused its token although the installation is active. */
export function tokenRefused(before: FollowedSource): FollowedSource {
  return { ...before, state: 'waiting', scopes: null };
}

export function erased(before: FollowedSource, rows: number, now: number): FollowedSource {
  return {
    ...before,
    state: 'erased',
    scopes: null,
    eraseAfter: null,
    erasedAt: instantFromMillis(now),
    erasedRows: rows,
  };
}

const rowsOf = ({ rule }: Rule, { rows, realm }: Known): readonly FollowedSource[] =>
  rows.filter((row) => row.rule === rule && row.realm === realm);

/**
 * Returns the targets of which every source of rules that no longer exist was forgotten: such a rule may be this one under
 * an earlier name. A target with another such source was followed until its rule was renamed, and only the earlier copy of
 * its rows was forgotten. What is forgotten under another rule of the configuration may be followed under this one.
 */
function forgottenTargets({ rows, realm, ruleNames }: Known): ReadonlySet<string> {
  const earlier = rows.filter((row) => row.realm === realm && !ruleNames.has(row.rule));
  const targets = new Set(earlier.map(({ target }) => target));
  for (const { target, reason } of earlier) if (reason !== 'forgotten') targets.delete(target);
  return targets;
}

/**
 * Returns installations with a source of another rule of the configuration, and none of this one: two accounts of one
 * application see the same installations. Records would count twice, and the token of an installation is stored once, so
 * that the scopes of one rule would be those of both.
 */
function followedElsewhere(rule: Rule, { rows, realm, ruleNames }: Known): ReadonlySet<InstallationId> {
  const open = rows.filter((row) => row.realm === realm && isOpen(row));
  const others = open.filter((row) => row.rule !== rule.rule && ruleNames.has(row.rule));
  const elsewhere = new Set(others.map(({ installation }) => installation));
  for (const row of open) if (row.rule === rule.rule) elsewhere.delete(row.installation);
  return elsewhere;
}

/** Returns one active installation for each target, the stored one if several are active. */
function activeByTarget(
  rule: Rule,
  installations: readonly ListedInstallation[],
  byTarget: ReadonlyMap<string, FollowedSource>,
): ReadonlyMap<string, ListedInstallation> {
  const active = new Map<string, ListedInstallation>();
  for (const one of installations) {
    if (!one.isActive || one.targetType !== rule.target) continue;
    if (!active.has(one.target) || byTarget.get(one.target)?.installation === one.id)
      active.set(one.target, one);
  }
  return active;
}

/**
 * Returns the name of a new source: the one that an override wishes, or one from the template that no override wishes. A
 * wished name that another followed source has gets a number, because its row could not be stored.
 */
function nameOf(
  rule: Rule,
  installation: ListedInstallation,
  names: ReadonlySet<SourceName>,
  isTaken: (name: SourceName) => boolean,
  reached: Map<string, number>,
): SourceName {
  const wished = rule.overrides.get(installation.id)?.name;
  if (wished === undefined) return sourceNameFor(rule.name, installation, isTaken, reached);
  return names.has(wished) ? freeName(wished, isTaken, reached) : wished;
}

function newSource(
  rule: Rule,
  installation: ListedInstallation,
  realm: Realm,
  source: SourceName,
  now: number,
): FollowedSource | null {
  if (rule.except.includes(installation.id)) return null;
  return {
    source,
    rule: rule.rule,
    realm,
    targetType: installation.targetType,
    target: installation.target,
    installation: installation.id,
    state: 'waiting',
    reason: null,
    scopes: null,
    mints: 0,
    lastMintAt: null,
    firstSeenAt: instantFromMillis(now),
    connectedAt: null,
    disconnectedAt: null,
    eraseAfter: null,
    erasedAt: null,
    erasedRows: null,
  };
}

/** Returns a known source whose target has an active installation. */
function installed(
  rule: Rule,
  before: FollowedSource,
  { id }: ListedInstallation,
  now: number,
): FollowedSource {
  if (before.reason === 'forgotten') return before;
  if (rule.except.includes(id)) return excepted(before, id, now);
  if (isOpen(before) && before.installation === id) return before;
  const again = before.installation === id ? {} : { installation: id, mints: 0, lastMintAt: null };
  return {
    ...before,
    ...again,
    state: 'waiting',
    reason: null,
    scopes: null,
    disconnectedAt: null,
    eraseAfter: null,
  };
}

/** An operator excluded the installation, which says nothing about its rows: they stay until it ends. */
function excepted(before: FollowedSource, installation: InstallationId, now: number): FollowedSource {
  if (!isOpen(before)) return before;
  const disconnectedAt = instantFromMillis(now);
  return { ...before, installation, state: 'disconnected', reason: 'excepted', scopes: null, disconnectedAt };
}

/** The account that knows the installation is no longer configured, so nothing can tell when it ends. */
function withoutRule(before: FollowedSource, now: number): FollowedSource {
  if (!isOpen(before)) return before;
  const disconnectedAt = instantFromMillis(now);
  return { ...before, state: 'disconnected', reason: 'rule_removed', scopes: null, disconnectedAt };
}

/** Ends the installation of a source, so that its rows may be erased. */
function disconnected(
  rule: Rule,
  before: FollowedSource,
  reason: DisconnectReason,
  disconnectedAt: Instant,
): FollowedSource {
  const isOver = before.state === 'erased' || before.reason === 'forgotten';
  if (isOver || before.reason === 'revoked' || before.reason === 'gone') return before;
  return rescheduled(rule, { ...before, state: 'disconnected', reason, scopes: null, disconnectedAt });
}

/** Applies the present `keepDays` to a source whose installation ended. */
function rescheduled({ keepDays }: Rule, row: FollowedSource): FollowedSource {
  const { state, reason, disconnectedAt } = row;
  if (state !== 'disconnected' || disconnectedAt === null) return row;
  if (reason !== 'revoked' && reason !== 'gone') return row;
  const eraseAfter =
    keepDays === null ? null : instantFromMillis(millisOf(disconnectedAt) + keepDays * 86_400_000);
  return eraseAfter === row.eraseAfter ? row : { ...row, eraseAfter };
}

/** When the platform says it ended, unless that is in the future of this clock. */
function endOf({ revokedAt }: ListedInstallation, now: number): Instant {
  return revokedAt !== null && millisOf(revokedAt) < now ? revokedAt : instantFromMillis(now);
}
