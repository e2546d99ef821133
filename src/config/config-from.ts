import { dirname, resolve } from 'node:path';
import { defined } from '../domain/defined.js';
import { type IdKind, parseId, parseSourceName } from '../domain/ids.js';
import { fileBehind } from '../runtime/file-behind.js';
import type { ProxyVariables } from '../runtime/proxy.js';
import { headerNames } from '../wire/headers.js';
import type {
  AfterSyncConfig,
  ApplicationConfig,
  Config,
  ConfiguredAccess,
  ConsoleConfig,
  ConsoleSignIn,
  EndpointConfig,
  FollowRule,
  NoticeConfig,
  QuietHoursConfig,
  ReceiverConfig,
  SourceFilters,
} from './config.js';
import { type DatabaseConfig, isPostgres, withoutPassword } from './database.js';
import { parseListen, parsePeriod, parseTimeOfDay } from './formats.js';
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

/** The environment secrets are read from, and the folder a relative path starts from. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  folderOf(path: Path): string;
}

/** Returns the configuration that checked settings describe, frozen. */
export function configFrom(settings: Settings, around: Surroundings): Config {
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
    platform: platformFrom(settings.platform, located, secret),
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
    receiver: receiverFrom(settings, located, secret),
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
    notices: settings.notices.map((notice, index) => noticeFrom(notice, index, secret)),
    afterSync: settings.afterSync.map((hook, index) => afterSyncFrom(hook, index, secret)),
    log: settings.log,
    proxy: proxyFrom(around.env),
  });
}

/** The configuration keeps nothing else of the environment. */
const proxyFrom = ({ https_proxy, HTTPS_PROXY, no_proxy, NO_PROXY }: Surroundings['env']): ProxyVariables =>
  defined({ https_proxy, HTTPS_PROXY, no_proxy, NO_PROXY });

const millisOrNull = (every: string | null): number | null =>
  every === null ? null : checked(parsePeriod(every));

/** Parses a database address when there is no configuration file yet. */
export function databaseAt(
  database: string,
  { env, folder }: { readonly env: Surroundings['env']; readonly folder: string },
): DatabaseConfig {
  if (!isPostgres(database))
    return { kind: 'sqlite', file: fileBehind(resolve(folder, database.slice('sqlite:'.length))) };
  const { url, password } = withoutPassword(database);
  return {
    kind: 'postgres',
    url,
    password: password === null ? null : new Secret('database', password, { env, folder }),
  };
}

type Locate = (file: string, ...path: Path) => string;
type MakeSecret = (reference: SecretReference, name: string, ...path: Path) => Secret;

function platformFrom(
  platform: Settings['platform'],
  located: Locate,
  secret: MakeSecret,
): Config['platform'] {
  const { ca, publishableKey, application, management, timeouts } = platform;
  return {
    baseUrl: platform.baseUrl.replace(/\/+$/, ''),
    version: platform.version,
    headers: headerNames(platform.headerPrefix, platform.requestIdHeader),
    caFile: ca === undefined ? null : located(ca, 'platform', 'ca'),
    requestsPerHour: platform.requestsPerHour,
    connectTimeoutMillis: timeouts.connectSeconds * 1000,
    requestTimeoutMillis: timeouts.requestSeconds * 1000,
    publishableKey: publishableKey ?? null,
    application: application === undefined ? null : applicationFrom(application, secret),
    management:
      management === undefined ? null : accessFrom(management, ['platform', 'management'], located, secret),
  };
}

function databaseFrom(
  { database, databasePassword }: Settings,
  located: Locate,
  secret: MakeSecret,
): DatabaseConfig {
  if (!isPostgres(database))
    return { kind: 'sqlite', file: fileBehind(located(database.slice('sqlite:'.length), 'database')) };
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

function noticeFrom(notice: Settings['notices'][number], index: number, secret: MakeSecret): NoticeConfig {
  switch (notice.kind) {
    case 'command':
      return notice;
    case 'slack': {
      const name = `notices[${index}].webhookUrl`;
      return { ...notice, webhookUrl: secret(notice.webhookUrl, name, 'notices', index, 'webhookUrl') };
    }
    case 'http': {
      const name = `notices[${index}].secret`;
      return { ...notice, secret: secret(notice.secret, name, 'notices', index, 'secret') };
    }
  }
}

function receiverFrom(
  { receiver, vault }: Settings,
  located: Locate,
  secret: MakeSecret,
): ReceiverConfig | null {
  if (receiver === null) return null;
  const { endpoint, maxConnections } = receiver;
  return {
    listen: checked(parseListen(receiver.listen)),
    path: receiver.path,
    secrets: receiver.secrets.map((reference, index) =>
      secret(reference, `receiver.secrets[${index}]`, 'receiver', 'secrets', index),
    ),
    endpoint: endpoint === null ? null : endpointFrom(endpoint, vault.keys.length > 0, located),
    maxConnections,
    maxConnectionsPerAddress: receiver.maxConnectionsPerAddress ?? Math.ceil(maxConnections / 2),
  };
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

/** A file of the system that stands for what a process has open, such as /dev/stdin and that of `<(command)`. */
const openFiles = /^\/(?:dev\/(?:fd\/|stdin$)|proc\/)/;

/** Returns the folder that relative paths of a configuration file start from: its own, or `cwd` for one that is piped in. */
export function folderOfFile(file: string, cwd: string): string {
  const path = resolve(file);
  return openFiles.test(path) ? cwd : dirname(path);
}
