import type { InstallationId, SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { Interruption } from '../runtime/interruption.js';

/** The realm of an installation, from the token that the platform returns for it. */
export type Realm = 'live' | 'test' | 'unknown';

/**
 * - `waiting`: known, and it has no token yet.
 * - `connected`: it has a token and is followed.
 * - `disconnected`: it is not followed. Its rows stay until `eraseAfter`.
 * - `erased`: nothing of it is stored any more, except this entry.
 */
export type FollowedState = 'waiting' | 'connected' | 'disconnected' | 'erased';

/**
 * Why a source is no longer followed:
 *
 * - `revoked`: the platform reports the installation as revoked.
 * - `gone`: the platform no longer knows the installation and refuses its token.
 * - `excepted`: the rule names the installation in `except`.
 * - `rule_removed`: the configuration no longer contains the rule.
 * - `forgotten`: a person asked to erase the source.
 */
export type DisconnectReason = 'revoked' | 'gone' | 'excepted' | 'rule_removed' | 'forgotten';

/** A source that a follow rule created. It contains no secret and no person's data. */
export interface FollowedSource {
  readonly source: SourceName;
  /** The name of the follow rule. */
  readonly rule: string;
  readonly realm: Realm;
  readonly targetType: string;
  /** The id of the company, co_…. One rule has at most one source for each target of a realm. */
  readonly target: string;
  /** The present installation. A company that installs the application again gets a new one. */
  readonly installation: InstallationId;
  readonly state: FollowedState;
  /** Null unless the source is disconnected or erased. */
  readonly reason: DisconnectReason | null;
  /** The granted scopes; null before they are known. */
  readonly scopes: readonly string[] | null;
  /** Number of tokens asked for, for the present installation. */
  readonly mints: number;
  readonly lastMintAt: Instant | null;
  readonly firstSeenAt: Instant;
  readonly connectedAt: Instant | null;
  readonly disconnectedAt: Instant | null;
  /** When to erase what is stored of it; null for never. */
  readonly eraseAfter: Instant | null;
  readonly erasedAt: Instant | null;
  /** Number of rows that the erasure deleted, without those of attempts that were interrupted. */
  readonly erasedRows: number | null;
}

export interface FollowedSourceChange {
  readonly next: FollowedSource;
  /** The entry as it was read; null when it must be new. */
  readonly before: FollowedSource | null;
}

/** The registry of followed sources. All methods throw `database_busy`, `database_full`. */
export interface FollowedSources {
  /** Returns every followed source, by name. */
  list(): Promise<readonly FollowedSource[]>;
  /** Returns a number that grows by one with every `save` that writes, so that other processes notice it. */
  revision(): Promise<number>;
  /**
   * Writes the changes in one transaction. Returns the names of those that were not written: the stored `state`, `mints`
   * or `installation` differ from `before`, or a new entry has the name or the target of another.
   */
  save(changes: readonly FollowedSourceChange[]): Promise<readonly SourceName[]>;
}

export interface SourceEraser {
  /** Returns the sources whose erasure has begun and was not finished. */
  unfinished(): Promise<readonly SourceName[]>;
  /**
   * Deletes everything stored of a source: identity first, then rows, history, changes, ticks, companies and rounds, and
   * the cursor. Commits in slices, and may be repeated after a crash. Returns the number of rows that this call deleted.
   * Throws `lease_lost` while another process holds the source, and when another process takes it meanwhile.
   */
  erase(source: SourceName): Promise<{ readonly rows: number }>;
}

/** An installation as the platform states it. */
export interface ListedInstallation {
  readonly id: InstallationId;
  readonly targetType: string;
  readonly target: string;
  readonly targetName: string;
  readonly isActive: boolean;
  readonly revokedAt: Instant | null;
}

export interface InstallationList {
  readonly installations: readonly ListedInstallation[];
  /** Whether every installation that the account may see was named and could be read. */
  readonly isComplete: boolean;
}

/** The installations of one application, as an account that manages it sees them. All throw the faults of the client. */
export interface InstallationsApi {
  list(signal: Interruption): Promise<InstallationList>;
  /** Returns null when the platform knows no such installation. */
  get(id: InstallationId, signal: Interruption): Promise<ListedInstallation | null>;
  mint(id: InstallationId, scopes: readonly string[], signal: Interruption): Promise<MintedToken>;
  /** Whether the platform accepts a token of an installation. */
  accepts(token: string, signal: Interruption): Promise<boolean>;
  /** The realm of the account, from its token. */
  realm(): Promise<Realm>;
}

export interface MintedToken {
  readonly token: string;
  /** The granted scopes. The platform silently drops those that it does not grant. */
  readonly scopes: readonly string[];
}

/** Where the tokens of installations are kept. `write` is durable when it resolves. */
export interface TokenVault {
  read(key: string): Promise<string | null>;
  /** Throws when nothing could be written now. */
  requireWritable(): Promise<void>;
  write(key: string, secret: string): Promise<void>;
  remove(key: string): Promise<void>;
  keys(prefix: string): Promise<readonly string[]>;
}
