import { tokenRule } from '../client/budget.js';
import { keyOfToken } from '../client/fetch/with-budget.js';
import { getInstallation } from '../client/installations.js';
import { type FeedScope, investmentFeed } from '../client/investments.js';
import { refusesVersion } from '../client/judge-response.js';
import { staticToken } from '../client/tokens/static-token.js';
import type { Config, SourceConfig } from '../config/config.js';
import type { PlatformSession } from '../daemon/platform-session.js';
import { dropsIdentity } from '../daemon/without-identity.js';
import { defined } from '../domain/defined.js';
import { type Fault, isFault } from '../domain/fault.js';
import type { SpentBudget } from '../store/budgets.js';
import type { ReceivedPage } from '../sync/ports.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';
import { signInCommand } from './sign-in-command.js';

export interface SourceTools {
  readonly config: Config;
  readonly session: PlatformSession;
  /** Returns the spent request budget; null when there is no usable database. */
  readonly budgetOf: ((key: string) => Promise<SpentBudget | null>) | null;
  /** Returns whether most stored records of the source came without names. */
  readonly nameless: (source: string) => boolean;
  readonly signal: AbortSignal;
}

/**
 * Checks token, scopes, identity and API version with one request that uses the source's token. Sends another one when the
 * platform does not find what the filters name.
 */
export async function sourceChecks(
  source: SourceConfig,
  reachable: boolean,
  tools: SourceTools,
): Promise<readonly Check[]> {
  const { name } = source;
  const names = [`token.${name}`, `scopes.${name}`, `identity.${name}`, `version.${name}`];
  const token = await tools.session
    .storedToken(source.access)
    .catch((error: unknown) => unreadableToken(names[0] ?? '', error, source));
  if (typeof token !== 'string') {
    return [token, ...names.slice(1).map((one) => skip(one, 'there is no token to ask with'))];
  }
  const budget = await budgetCheck(name, token, tools);
  const checks = reachable
    ? await askedChecks(source, token, tools)
    : names.map((one) => skip(one, 'the platform cannot be reached'));
  return [...checks, await installationCheck(source, reachable, tools), budget];
}

async function askedChecks(
  source: SourceConfig,
  token: string,
  { config, session, nameless, signal }: SourceTools,
): Promise<readonly Check[]> {
  const { name, filters } = source;
  const api = session.client.as(staticToken(() => token));
  const { companyId, offeringId, investorId } = filters;
  const scope = {
    company: companyId ?? null,
    filters: {
      ...defined({ offering_id: offeringId, investor_id: investorId }),
    },
    perPage: 1,
  };
  const first = (of: FeedScope) => investmentFeed(api, of, 'routine').page({ kind: 'start' }, signal);
  const version = pass(`version.${name}`, `API version ${config.platform.version} is accepted`);
  try {
    const page = await first(scope);
    return [
      pass(`token.${name}`, 'the token is valid'),
      pass(`scopes.${name}`, 'it may read investments'),
      identityCheck(source, page, config, nameless(name)),
      version,
    ];
  } catch (error) {
    if (!isFault(error)) throw error;
    const isFiltered = Object.values(filters).some((id) => id !== undefined);
    if (!isFiltered || !isNotFound(error)) return refusals(source, error, config);
    // A wrong address gets the same answer. It gets it without the filters, too.
    const without = await first({ company: null, filters: {}, perPage: 1 }).catch((other: unknown) => other);
    if (!isFault(without) || without.code === 'forbidden') return unseen(source, error, version);
    return refusals(source, without, config);
  }
}

const isNotFound = ({ code, about: { status } }: Fault): boolean => code === 'refused' && status === 404;

/** The platform accepts the token, but the token may not see what the filters name. */
const unseen = (source: SourceConfig, fault: Fault, version: Check): readonly Check[] => [
  pass(`token.${source.name}`, 'the token is valid'),
  failedBy(`scopes.${source.name}`, fault, anotherToken(source)),
  skip(`identity.${source.name}`, 'the platform did not say'),
  version,
];

function refusals(source: SourceConfig, fault: Fault, config: Config): readonly Check[] {
  const { name, access } = source;
  const told = fault.message;
  const unknown = (what: string) => skip(`${what}.${name}`, 'the platform did not say');
  if (fault.code === 'unauthorized') {
    const token =
      access.kind === 'credentials'
        ? warn(
            `token.${name}`,
            'the access token has expired; the next tick refreshes it',
            `rosterd sync --source ${name}`,
          )
        : fail(`token.${name}`, `the token is not accepted: ${told}`, anotherToken(source));
    return [token, unknown('scopes'), unknown('identity'), unknown('version')];
  }
  const accepted = pass(`version.${name}`, `API version ${config.platform.version} is accepted`);
  const valid = pass(`token.${name}`, 'the token is valid');
  if (fault.code === 'forbidden')
    return [
      valid,
      fail(`scopes.${name}`, `it may not read these investments: ${told}`, anotherToken(source)),
      unknown('identity'),
      accepted,
    ];
  if (fault.code === 'refused' && refusesVersion(fault.about.status, fault.about.type))
    return [
      unknown('token'),
      unknown('scopes'),
      unknown('identity'),
      fail(`version.${name}`, told, 'npx rosterd version; then platform.version in config.json'),
    ];
  const mend =
    fault.about.retryAt === undefined ? 'rosterd config show' : `rosterd doctor after ${fault.about.retryAt}`;
  return [failedBy(`token.${name}`, fault, mend), unknown('scopes'), unknown('identity'), unknown('version')];
}

/** A missing or void sign-in is named with the command of its source. */
function unreadableToken(check: string, error: unknown, source: SourceConfig): Check {
  return isFault(error, 'reauthorize')
    ? fail(check, error.message, signInCommand(source))
    : failedBy(check, error, anotherToken(source));
}

/** The advice to get another token. A token from elsewhere is replaced at its origin. */
function anotherToken(source: SourceConfig): string {
  const { access } = source;
  return access.kind === 'token'
    ? `rosterd connect, or another token (this one is ${access.token.origin})`
    : signInCommand(source);
}

function identityCheck(source: SourceConfig, page: ReceivedPage, config: Config, nameless: boolean): Check {
  const { name } = source;
  const check = `identity.${name}`;
  const record = page.parse().items.find((item) => item.kind === 'record');
  if (dropsIdentity(config, source)) return pass(check, 'names are not kept, as configured');
  if (record?.kind !== 'record') return skip(check, 'there is no record to see it by');
  if (record.identity === null)
    return warn(check, 'the token does not include names (read:investors:pii)', anotherToken(source));
  const listed = `rosterd sync --source ${name} --resync`;
  return nameless
    ? warn(check, 'names are granted, but the mirror was filled without them', listed)
    : pass(check, 'names are granted');
}

async function installationCheck(
  { name, installation }: SourceConfig,
  reachable: boolean,
  { config, session, signal }: SourceTools,
): Promise<Check> {
  const check = `installation.${name}`;
  if (installation === null) return skip(check, 'the source names no installation');
  const { management } = config.platform;
  if (management === null)
    return skip(check, 'platform.management is not set, only it can see installations');
  if (!reachable) return skip(check, 'the platform cannot be reached');
  try {
    const token = await session.storedToken(management);
    const { status } = await getInstallation(
      session.client.as(staticToken(() => token)),
      installation,
      signal,
    );
    return status === 'active'
      ? pass(check, `${installation} is active`)
      : fail(check, `${installation} is ${status}`, 'rosterd connect');
  } catch (error) {
    if (isFault(error, 'forbidden') || isFault(error, 'unauthorized'))
      return skip(check, 'the management token may not see installations');
    return failedBy(check, error, 'rosterd connect');
  }
}

async function budgetCheck(
  name: string,
  token: string,
  { config, session, budgetOf }: SourceTools,
): Promise<Check> {
  const check = `budget.${name}`;
  const limit = config.platform.requestsPerHour;
  if (limit === null) return skip(check, 'requests are not counted (platform.requestsPerHour is null)');
  if (budgetOf === null) return skip(check, 'there is no usable database');
  const state = await budgetOf(keyOfToken(token)).catch((error: unknown) =>
    failedBy(check, error, 'rosterd status'),
  );
  if (state !== null && 'verdict' in state) return state;
  const { windowMillis, reserve } = tokenRule(limit);
  const open = state !== null && session.client.time.now() < state.windowStart + windowMillis;
  const left = open ? Math.max(0, limit - state.spent) : limit;
  const told = `${left} of ${limit} requests are left this hour`;
  return left > reserve
    ? pass(check, told)
    : warn(check, `${told}: only webhooks still use them`, 'rosterd config show');
}
