import type { CompanyId, InstallationId, OfferingId, SourceName, UserId } from '../domain/ids.js';
import type { Role } from '../domain/role.js';
import type { ProxyVariables } from '../runtime/proxy.js';
import type { HeaderNames } from '../wire/headers.js';
import type { Version } from '../wire/versions.js';
import type { DatabaseConfig } from './database.js';
import type { ExportTable, ScheduledFormat } from './export-tables.js';
import type { Listen } from './formats.js';
import type { Secret } from './secrets.js';
import type { Settings } from './settings.js';

/** The parsed configuration: ids and addresses checked, paths absolute, frozen. */
export interface Config {
  readonly platform: {
    readonly baseUrl: string;
    readonly version: Version;
    readonly headers: HeaderNames;
    readonly caFile: string | null;
    readonly requestsPerHour: number | null;
    readonly connectTimeoutMillis: number;
    readonly requestTimeoutMillis: number;
    readonly publishableKey: string | null;
    readonly application: ApplicationConfig | null;
    readonly management: ConfiguredAccess | null;
  };
  readonly database: DatabaseConfig;
  /** The listed sources: those that the configuration names. */
  readonly sources: readonly SourceConfig[];
  /** Rules that create further sources, one for each company that installed an application. */
  readonly follows: readonly FollowRule[];
  readonly vault: VaultConfig;
  readonly sync: Omit<Settings['sync'], 'quietHours'> & { readonly quietHours: QuietHoursConfig | null };
  readonly receiver: ReceiverConfig | null;
  readonly console: ConsoleConfig | null;
  readonly identity: Settings['identity'];
  /** `ledger` is the file that lists forgotten ids. */
  readonly forget: { readonly ledger: string };
  readonly history: { readonly keepDays: number | null };
  readonly backup: BackupConfig;
  readonly exports: ExportsConfig;
  readonly lake: LakeConfig;
  readonly alerts: Settings['alerts'];
  readonly notices: readonly NoticeConfig[];
  readonly afterSync: readonly AfterSyncConfig[];
  readonly log: Settings['log'];
  /** Of the environment. They are checked when the first connection is prepared, so that commands without one do not care. */
  readonly proxy: ProxyVariables;
}

export interface SourceConfig {
  readonly name: SourceName;
  readonly access: Access;
  readonly company: CompanyId | null;
  readonly installation: InstallationId | null;
  readonly filters: SourceFilters;
  /** What a follow rule says of the source; absent for a listed one. */
  readonly followed?: FollowedAs;
}

/** The part of a follow rule, and of the registry, that a source needs. */
export interface FollowedAs {
  readonly rule: string;
  readonly realm: 'live' | 'test' | 'unknown';
  readonly identity: 'keep' | 'drop';
  /** When its present token was stored. */
  readonly connectedAt: string | null;
}

/** Creates a source for each company on which an application is installed. */
export interface FollowRule {
  readonly rule: string;
  /** The account of a manager of the application's organization. */
  readonly access: Access;
  readonly target: 'company';
  /** Template of the names of its sources: {slug}, {company} and {installation} are replaced. */
  readonly name: string;
  /** The scopes of the tokens to mint. */
  readonly scopes: readonly string[];
  readonly identity: 'keep' | 'drop';
  /** Days from the revocation until everything stored is erased. Null: rows stay. 0: erased at once. */
  readonly keepDays: number | null;
  readonly except: readonly InstallationId[];
  readonly overrides: ReadonlyMap<InstallationId, FollowOverride>;
}

export interface FollowOverride {
  readonly name?: SourceName;
}

/** Where rosterd keeps the secrets that it writes itself. Without keys: in the folder. */
export interface VaultConfig {
  readonly folder: string;
  readonly keys: readonly Secret[];
}

/**
 * How to authenticate to the platform: a fixed access token, a sign-in that rosterd refreshes, or a token that rosterd
 * minted itself and keeps in its vault.
 */
export type Access =
  | { readonly kind: 'token'; readonly token: Secret }
  | {
      readonly kind: 'credentials';
      readonly at: CredentialPlace;
      readonly clientId: string;
      /** Null for a public client. */
      readonly clientSecret: Secret | null;
    }
  | { readonly kind: 'stored'; readonly key: string };

/** An access that a configuration can name. */
export type ConfiguredAccess = Exclude<Access, { readonly kind: 'stored' }>;

/** Where a rotating sign-in is stored: a file of this host, or an entry of the vault. */
export type CredentialPlace = { readonly file: string } | { readonly entry: string };

export interface ApplicationConfig {
  readonly clientId: string;
  readonly clientSecret: Secret | null;
  readonly redirectUri: string;
  readonly authorizeUrl: string | null;
}

export interface SourceFilters {
  readonly companyId?: CompanyId;
  readonly offeringId?: OfferingId;
  readonly investorId?: UserId;
}

export interface ConsoleConfig {
  readonly listen: Listen;
  readonly hosts: readonly string[];
  /** Null only when the console is reachable from this machine alone. */
  readonly auth: ConsoleSignIn | null;
  readonly auditKeepDays: number | null;
  /** How many sources have metrics of their own. */
  readonly metricsSources: number;
}

/** At least one of the three. */
export interface ConsoleSignIn {
  /** `console.auth.token` has no name. */
  readonly tokens: readonly { readonly name: string | null; readonly role: Role; readonly token: Secret }[];
  readonly basic: { readonly user: string; readonly password: Secret } | null;
  readonly proxy: ConsoleProxy | null;
}

export interface ConsoleProxy {
  readonly addresses: readonly string[];
  readonly header: string;
  readonly users: readonly { readonly name: string; readonly role: Role }[];
  readonly role: Role | null;
}

export interface ReceiverConfig {
  readonly listen: Listen;
  readonly path: string;
  readonly secrets: readonly Secret[];
  readonly endpoint: EndpointConfig | null;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
}

/** The webhook endpoint that the daemon manages. */
export interface EndpointConfig {
  readonly publicUrl: string;
  readonly mode: 'live' | 'test';
  readonly events: readonly string[];
  readonly file: string;
  /** The vault entry that has the state instead of the file; null without `vault.keys`. */
  readonly entry: string | null;
  readonly checkMillis: number;
  readonly rotateMillis: number | null;
}

/** In minutes after midnight. */
export interface QuietHoursConfig {
  readonly from: number;
  readonly to: number;
  readonly timeZone: string;
}

/** Backups on a schedule. */
export interface BackupConfig {
  /** Null makes none. */
  readonly everyMillis: number | null;
  readonly keep: number;
  readonly folder: string;
}

/** Exports on a schedule. */
export interface ExportsConfig {
  /** Null makes none. */
  readonly everyMillis: number | null;
  readonly keep: number;
  readonly folder: string;
  readonly format: ScheduledFormat;
  readonly tables: readonly ExportTable[];
  readonly identity: boolean;
}

/** A lake that the daemon keeps up to date. */
export interface LakeConfig {
  /** Null: only commands write it. */
  readonly everyMillis: number | null;
  readonly keep: number;
  readonly folder: string;
  readonly identity: boolean;
}

export interface NoticeRules {
  readonly sources?: readonly string[] | undefined;
  readonly kinds?: readonly ('added' | 'changed' | 'removed')[] | undefined;
  readonly fields?: readonly string[] | undefined;
  readonly statuses?: readonly string[] | undefined;
  readonly minCommittedCents?: number | undefined;
}

export type NoticeConfig = {
  readonly name: string;
  readonly about: readonly ('changes' | 'alerts')[];
  readonly rules: NoticeRules;
} & (
  | { readonly kind: 'slack'; readonly webhookUrl: Secret }
  | { readonly kind: 'http'; readonly url: string; readonly secret: Secret }
  | { readonly kind: 'command'; readonly command: readonly string[] }
);

/** A hook that runs after a sync that changed rows. */
export type AfterSyncConfig = {
  readonly name: string;
  /** Null for changes of every source. */
  readonly sources: readonly string[] | null;
  readonly delayMillis: number;
  readonly timeoutMillis: number;
} & (
  | { readonly kind: 'http'; readonly url: string; readonly secret: Secret }
  | { readonly kind: 'command'; readonly command: readonly string[] }
);
