import { dirname, resolve } from 'node:path';
import { defined } from '../domain/defined.js';
import {
  type CompanyId,
  type IdKind,
  type InstallationId,
  type OfferingId,
  parseId,
  parseSourceName,
  type SourceName,
  type UserId,
} from '../domain/ids.js';
import type { Role } from '../domain/role.js';
import type { HeaderNames } from '../wire/headers.js';
import { headerNames } from '../wire/headers.js';
import type { Version } from '../wire/versions.js';
import { type DatabaseConfig, isPostgres, withoutPassword } from './database.js';
import type { ExportTable, ScheduledFormat } from './export-tables.js';
import { type Listen, parseListen, parsePeriod, parseTimeOfDay } from './formats.js';
import { type Path, pathText } from './path.js';
import { Secret, type SecretReference } from './secrets.js';
import type { Settings } from './settings.js';
import {
  type AccessSettings,
  type FollowRuleSettings,
  followRules,
  identityOf,
  type ListedSource,
  listedSources,
  scopesOf,
} from './source-entries.js';

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

/** The environment secrets are read from, and the folder a relative path starts from. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  folderOf(path: Path): string;
}

export function configFrom(settings: Settings, around: Surroundings): Config {
  const { platform, receiver } = settings;
  const located = (file: string, ...path: Path) => resolve(around.folderOf(path), file);
  const secret = (reference: SecretReference, name: string, ...path: Path) => {
    const folder = around.folderOf(path);
    const absolute =
      typeof reference === 'object' && 'file' in reference
        ? { file: resolve(folder, reference.file) }
        : reference;
    return new Secret(name, absolute, { env: around.env, folder });
  };

  return deepFrozen({
    platform: {
      baseUrl: platform.baseUrl.replace(/\/+$/, ''),
      version: platform.version,
      headers: headerNames(platform.headerPrefix, platform.requestIdHeader),
      caFile: platform.ca === undefined ? null : located(platform.ca, 'platform', 'ca'),
      requestsPerHour: platform.requestsPerHour,
      connectTimeoutMillis: platform.timeouts.connectSeconds * 1000,
      requestTimeoutMillis: platform.timeouts.requestSeconds * 1000,
      publishableKey: platform.publishableKey ?? null,
      application: platform.application === undefined ? null : applicationFrom(platform.application, secret),
      management:
        platform.management === undefined
          ? null
          : accessFrom(platform.management, ['platform', 'management'], located, secret),
    },
    database: databaseFrom(settings, located, secret),
    sources: listedSources(settings.sources).map(({ source, at }) => ({
      name: checked(parseSourceName(source.name)),
      access: accessFrom(source, at, located, secret),
      company: idOrNull('company', source.company),
      installation: idOrNull('installation', source.installation),
      filters: filtersFrom(source),
    })),
    follows: followRules(settings.sources).map(({ rule, at }) => ({
      rule: rule.rule,
      access: accessFrom(rule, at, located, secret),
      target: rule.targets,
      name: rule.name,
      scopes: scopesOf(rule, settings.identity),
      identity: identityOf(rule, settings.identity),
      keepDays: rule.afterRevoke.keepDays,
      except: rule.except.map((id) => checked(parseId('installation', id))),
      overrides: overridesFrom(rule),
    })),
    vault: {
      folder: located(settings.vault.folder, 'vault', 'folder'),
      keys: settings.vault.keys.map((reference, index) =>
        secret(reference, `vault.keys[${index}]`, 'vault', 'keys', index),
      ),
    },
    sync: { ...settings.sync, quietHours: quietHoursFrom(settings.sync.quietHours) },
    receiver:
      receiver === null
        ? null
        : {
            listen: checked(parseListen(receiver.listen)),
            path: receiver.path,
            secrets: receiver.secrets.map((reference, index) =>
              secret(reference, `receiver.secrets[${index}]`, 'receiver', 'secrets', index),
            ),
            endpoint:
              receiver.endpoint === null
                ? null
                : endpointFrom(receiver.endpoint, settings.vault.keys.length > 0, located),
            maxConnections: receiver.maxConnections,
            maxConnectionsPerAddress:
              receiver.maxConnectionsPerAddress ?? Math.ceil(receiver.maxConnections / 2),
          },
    console: settings.console === null ? null : consoleFrom(settings.console, secret),
    identity: settings.identity,
    forget: { ledger: located(settings.forget.ledger, 'forget', 'ledger') },
    history: settings.history,
    backup: {
      everyMillis: millisOrNull(settings.backup.every),
      keep: settings.backup.keep,
      folder: located(settings.backup.folder, 'backup', 'folder'),
    },
    exports: {
      ...settings.exports,
      everyMillis: millisOrNull(settings.exports.every),
      folder: located(settings.exports.folder, 'exports', 'folder'),
    },
    lake: {
      ...settings.lake,
      everyMillis: millisOrNull(settings.lake.every),
      folder: located(settings.lake.folder, 'lake', 'folder'),
    },
    alerts: settings.alerts,
    notices: settings.notices.map((notice, index): NoticeConfig => {
      if (notice.kind === 'command') return notice;
      return notice.kind === 'slack'
        ? {
            ...notice,
            webhookUrl: secret(
              notice.webhookUrl,
              `notices[${index}].webhookUrl`,
              'notices',
              index,
              'webhookUrl',
            ),
          }
        : {
            ...notice,
            secret: secret(notice.secret, `notices[${index}].secret`, 'notices', index, 'secret'),
          };
    }),
    afterSync: settings.afterSync.map((hook, index) => afterSyncFrom(hook, index, secret)),
    log: settings.log,
  });
}

const millisOrNull = (every: string | null): number | null =>
  every === null ? null : checked(parsePeriod(every));

/** Parses a database address when there is no configuration file yet. */
export function databaseAt(
  database: string,
  { env, folder }: { readonly env: Surroundings['env']; readonly folder: string },
): DatabaseConfig {
  if (!isPostgres(database))
    return { kind: 'sqlite', file: resolve(folder, database.slice('sqlite:'.length)) };
  const { url, password } = withoutPassword(database);
  return {
    kind: 'postgres',
    url,
    password: password === null ? null : new Secret('database', password, { env, folder }),
  };
}

type Locate = (file: string, ...path: Path) => string;
type MakeSecret = (reference: SecretReference, name: string, ...path: Path) => Secret;

function databaseFrom(
  { database, databasePassword }: Settings,
  located: Locate,
  secret: MakeSecret,
): DatabaseConfig {
  if (!isPostgres(database))
    return { kind: 'sqlite', file: located(database.slice('sqlite:'.length), 'database') };
  const { url, password } = withoutPassword(database);
  if (databasePassword !== undefined)
    return {
      kind: 'postgres',
      url,
      password: secret(databasePassword, 'databasePassword', 'databasePassword'),
    };
  return {
    kind: 'postgres',
    url,
    password: password === null ? null : secret(password, 'database', 'database'),
  };
}

function accessFrom(
  { token, credentials }: AccessSettings,
  at: Path,
  located: Locate,
  secret: MakeSecret,
): ConfiguredAccess {
  const place = pathText(at);
  if (token !== undefined) {
    return { kind: 'token', token: secret(token, `${place}.token`, ...at, 'token') };
  }
  const { file, vault, clientId, clientSecret } = checked(credentials);
  return {
    kind: 'credentials',
    at:
      vault === undefined
        ? { file: located(checked(file), ...at, 'credentials', 'file') }
        : { entry: `sign-in/${vault}` },
    clientId,
    clientSecret:
      clientSecret === undefined
        ? null
        : secret(clientSecret, `${place}.credentials.clientSecret`, ...at, 'credentials', 'clientSecret'),
  };
}

function applicationFrom(
  application: NonNullable<Settings['platform']['application']>,
  secret: MakeSecret,
): ApplicationConfig {
  const { clientId, clientSecret, redirectUri, authorizeUrl } = application;
  const at = ['platform', 'application', 'clientSecret'];
  return {
    clientId,
    clientSecret: clientSecret === undefined ? null : secret(clientSecret, pathText(at), ...at),
    redirectUri,
    authorizeUrl: authorizeUrl ?? null,
  };
}

function afterSyncFrom(
  hook: Settings['afterSync'][number],
  index: number,
  secret: MakeSecret,
): AfterSyncConfig {
  const { name, sources = null, delaySeconds, timeoutSeconds } = hook;
  const about = { name, sources, delayMillis: delaySeconds * 1_000, timeoutMillis: timeoutSeconds * 1_000 };
  if (hook.kind === 'command') return { ...about, kind: 'command', command: hook.command };
  const key = secret(hook.secret, `afterSync[${index}].secret`, 'afterSync', index, 'secret');
  return { ...about, kind: 'http', url: hook.url, secret: key };
}

function consoleFrom(
  { listen, hosts, auth, auditKeepDays, metricsSources }: NonNullable<Settings['console']>,
  secret: MakeSecret,
): ConsoleConfig {
  return {
    listen: checked(parseListen(listen)),
    hosts,
    auth: auth === null ? null : signInFrom(auth, secret),
    auditKeepDays,
    metricsSources,
  };
}

function signInFrom(
  { token, tokens = [], proxy, user, password }: NonNullable<NonNullable<Settings['console']>['auth']>,
  secret: MakeSecret,
): ConsoleSignIn {
  const named = (reference: SecretReference, ...path: Path) =>
    secret(reference, pathText(['console', 'auth', ...path]), 'console', 'auth', ...path);
  // One token, and a user and password, existed before there were roles: they may do what they could then.
  const single =
    token === undefined ? [] : [{ name: null, role: 'analyst' as const, token: named(token, 'token') }];
  return {
    tokens: [
      ...single,
      ...tokens.map((one, index) => ({ ...one, token: named(one.token, 'tokens', index, 'token') })),
    ],
    basic: user === undefined ? null : { user, password: named(checked(password), 'password') },
    proxy: proxy ?? null,
  };
}

function endpointFrom(
  endpoint: NonNullable<NonNullable<Settings['receiver']>['endpoint']>,
  hasVault: boolean,
  located: Locate,
): EndpointConfig {
  const { publicUrl, mode, events, file, checkSeconds, rotateDays } = endpoint;
  return {
    publicUrl,
    mode,
    events,
    file: located(file, 'receiver', 'endpoint', 'file'),
    entry: hasVault ? `endpoint/${mode}` : null,
    checkMillis: checkSeconds * 1000,
    rotateMillis: rotateDays === null ? null : rotateDays * 86_400_000,
  };
}

function filtersFrom(source: ListedSource): SourceFilters {
  const companyId = parseId('company', source.filters.companyId ?? source.company);
  const offeringId = parseId('offering', source.filters.offeringId);
  const investorId = parseId('user', source.filters.investorId);
  return {
    ...defined({ companyId, offeringId, investorId }),
  };
}

function overridesFrom(rule: FollowRuleSettings): FollowRule['overrides'] {
  return new Map(
    Object.entries(rule.overrides).map(([id, { name }]) => [
      checked(parseId('installation', id)),
      name === undefined ? {} : { name: checked(parseSourceName(name)) },
    ]),
  );
}

function quietHoursFrom(quiet: Settings['sync']['quietHours']): QuietHoursConfig | null {
  if (quiet === null) return null;
  const { from, to, timeZone } = quiet;
  return { from: checked(parseTimeOfDay(from)), to: checked(parseTimeOfDay(to)), timeZone };
}

function idOrNull<Kind extends IdKind>(kind: Kind, text: string | undefined) {
  return parseId(kind, text) ?? null;
}

/** Throws when a value that validation accepted does not parse, which is a bug. */
function checked<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a validated setting did not parse');
  return value;
}

function deepFrozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFrozen(inner);
  return Object.freeze(value);
}

/** Returns the folder that relative paths of a configuration file start from. */
export function folderOfFile(file: string): string {
  return dirname(resolve(file));
}
